// Package publish turns segments that the log has cut, and snapshots, into
// stored documents.
//
// Publishing a cut segment is done in this order, so that a crash between any
// two steps is repaired by running it again:
//
//  1. every renderer renders the documents that the segment makes final, and
//     each becomes an object whose key holds the digest of its bytes: nothing
//     is ever overwritten;
//  2. one transaction makes the rows URL → object visible and advances the
//     renderers' published positions, as a compare-and-swap: of two publishers
//     the slower one changes nothing, and its objects are garbage.
//
// A snapshot goes the same way, part by part; its last transaction makes it the
// newest. One publisher works on a set at a time, by a lease on the database's
// clock; the lease saves work, the compare-and-swap keeps the truth.
//
// Protocols plug in as [Renderer] and [SnapshotRenderer].
package publish

import (
	"context"

	"gateway/model"
)

// Renderer makes the stored documents of one protocol. It reads no clock and no
// state but its arguments, so the same arguments give the same bytes.
type Renderer interface {
	// Name keys the renderer's published position in the store. It never
	// changes.
	Name() string
	// Seal creates in out every document that becomes final when seg is
	// published. v is the view before that: v.Published is the segment before
	// seg, or zero when seg is the first.
	Seal(ctx context.Context, log model.Log, v model.View, seg model.Segment, out model.Sink) error
}

// SnapshotRenderer makes the documents of snapshots.
type SnapshotRenderer interface {
	// Part begins part number (1, 2, …) of s. single tells that s has no other,
	// and no index. The publisher cuts: it writes records and closes the part
	// before it would exceed the limits.
	Part(v model.View, s model.Snapshot, number int, single bool, out model.Sink) (model.PartWriter, error)
	// Index creates the index over the parts 1 … s.Parts. Not called for a
	// single part.
	Index(ctx context.Context, v model.View, s model.Snapshot, out model.Sink) error
}
