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
// Then the content of the segments is packed: copied from the database into one
// object in the order of the log, read back and compared, and one transaction
// makes the object the place where it lies. The bytes in the database go an hour
// later. An object of which no transaction knows is garbage, and so is a pack
// whose content was all copied elsewhere: what a snapshot shows, when it lies
// scattered, into the order of the snapshot, and what is left in packs that are
// more than half without content, into the order of the log.
//
// A snapshot goes the same way, part by part; its last transaction makes it the
// newest, and a crash goes on after the last part that was stored. A renderer
// that fails holds up no other. One publisher works on a set at a time, by a
// lease on the database's clock; the lease saves work, the compare-and-swap
// keeps the truth.
//
// Protocols plug in as [Renderer] and [SnapshotRenderer]; a [Publisher] drives
// them over a [Store] and [Objects], of which [Folder] is one.
package publish

import (
	"context"
	"io"
	"iter"
	"time"

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

// Store is the log with the rows that say what is published.
type Store interface {
	model.Log
	// Due returns up to limit sets whose time has come, longest waiting first.
	Due(ctx context.Context, limit int) ([]model.SetID, error)
	// Backlog is what there is to do for set, from one read.
	Backlog(ctx context.Context, set model.SetID) (model.Backlog, error)
	// Lease reserves publishing of set for holder for d from now; false when
	// another holder has it. Asking again extends it.
	Lease(ctx context.Context, set model.SetID, holder string, d time.Duration) (bool, error)
	// Release gives holder's lease back, if it still has it.
	Release(ctx context.Context, set model.SetID, holder string) error
	// Seal cuts the tail of set; false when it was empty.
	Seal(ctx context.Context, set model.SetID) (bool, error)
	// Publish makes everything of p visible in one transaction, or nothing.
	Publish(ctx context.Context, p model.Publication) error
	// Loose yields, in the order of the log, the content of the segments after <
	// s ≤ last that lies in the database and nowhere else.
	Loose(ctx context.Context, set model.SetID, after, last model.SegmentNumber) iter.Seq2[model.Loose, error]
	// Places returns where contents are kept, in the order of keys.
	Places(ctx context.Context, set model.SetID, keys []model.ContentKey) ([]model.Place, error)
	// OpenContents opens contents as one, joined in the order of keys.
	OpenContents(ctx context.Context, set model.SetID, keys []model.ContentKey) (model.Kept, error)
	// Pack makes an object the place of the content that was copied to it.
	Pack(ctx context.Context, p model.Pack) error
	// Free removes some of the database bytes of packed content that are due,
	// and tells whether there are more.
	Free(ctx context.Context, set model.SetID) (more bool, err error)
	// Sparse yields, by rising key, the content of objects that are more than
	// half without content.
	Sparse(ctx context.Context, set model.SetID) iter.Seq2[model.ContentKey, error]
	// Unreferenced returns those of keys that no row and no live intent names.
	Unreferenced(ctx context.Context, keys []string) ([]string, error)
}

// Objects keeps bytes under keys: a folder now, a bucket later. A key is a path
// of lower-case letters, digits and hyphens between slashes.
type Objects interface {
	// Create keeps what r yields under key: durable and whole when it returns
	// nil, absent otherwise. An object is never replaced; a key in use is an
	// error wrapping [model.ErrExists].
	Create(ctx context.Context, key string, r io.Reader) (size int64, err error)
	// Open opens an object; the caller closes it. The error wraps
	// [model.ErrNotFound] when there is none.
	Open(ctx context.Context, key string) (model.Kept, error)
	// Delete removes an object; one that is not there is no error.
	Delete(ctx context.Context, key string) error
	// List yields all objects in any order.
	List(ctx context.Context) iter.Seq2[ObjectInfo, error]
}

// ObjectInfo is one object in a listing.
type ObjectInfo struct {
	Key     string
	Size    int64
	Created time.Time
}
