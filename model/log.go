package model

import (
	"context"
	"io"
	"iter"
)

// Log reads one set's log. Implementations stream keyset pages; no call holds a
// transaction open between two steps of an iteration.
type Log interface {
	// Changes yields the changes at positions after < p ≤ last, in order. The
	// pointer and the slices behind it are valid until the next step; strings
	// stay. An iteration ends at the first error, which it yields with nil.
	Changes(ctx context.Context, set SetID, after, last Position) iter.Seq2[*Change, error]
	// States yields, for every record that was live at position at and whose
	// number is greater than after, its newest change at or before at, by
	// rising number. Later writes do not disturb it. Pointers as in Changes.
	States(ctx context.Context, set SetID, at Position, after RecordNumber) iter.Seq2[*Change, error]
	// Segments returns up to limit segments with numbers greater than after, in
	// order.
	Segments(ctx context.Context, set SetID, after SegmentNumber, limit int) ([]Segment, error)
}

// Sink takes the documents that a renderer makes.
type Sink interface {
	// Create begins a document: its path below the base URL, its Content-Type,
	// and its Last-Modified. It is complete when Close returned nil; a document
	// not closed does not exist.
	Create(path, mediaType string, lastModified Time) (DocumentWriter, error)
	// Add announces a package, whose manifest was created before.
	Add(p Package)
}

// DocumentWriter takes the bytes of one document.
type DocumentWriter interface {
	io.WriteCloser
	// Content is what the document has become, once Close returned nil.
	Content() Content
}

// PartWriter takes the records of one part of a snapshot, by rising number.
type PartWriter interface {
	Record(c *Change) error
	Close() error
}

// Kept is an open object or content in its kept form ([Content.Deflated]).
type Kept interface {
	io.ReaderAt
	io.Closer
	Size() int64
}
