package model

// Advance moves a renderer's published position by whole segments.
type Advance struct {
	Renderer string
	From, To SegmentNumber
}

// Publication is what one compare-and-swap makes visible: rows URL → object,
// and the positions that go with them. Its objects exist already.
type Publication struct {
	Set   SetID
	Epoch EpochNumber
	// Holder must hold the set's publishing lease, or nothing is published and
	// the error is [ErrHeadMoved]; "" asks for no lease.
	Holder string
	// Advances are applied only if every renderer stands at its From, else
	// nothing is published and the error is [ErrHeadMoved].
	Advances  []Advance
	Documents []Document
	Packages  []Package
	// Rendering, when not nil, records how far a snapshot of several parts has
	// come.
	Rendering *RenderingSnapshot
	// Snapshot, when not nil, becomes the newest published snapshot; it must be
	// newer than the one that is, else [ErrHeadMoved].
	Snapshot *Snapshot
	// Expire removes the documents of superseded snapshots.
	Expire []SnapshotNumber
	// Pack, when not nil, is a pack of the log that is taken in the same
	// transaction; it is small.
	Pack *Pack
	// Ready makes the epoch's moving documents available.
	Ready bool
	// Release gives the lease back in the same transaction.
	Release bool
}
