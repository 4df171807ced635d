package model

// Epoch is one publication epoch of a set. Everything sealed has its number in
// its URL; another base URL or another coverage is another epoch, and the URLs
// of older ones answer 410.
type Epoch struct {
	Number  EpochNumber
	Reason  string // "created", "rebase", …
	BaseURL string // without trailing slash
	// First is the position after which its change lists begin: 0 from the
	// first change on.
	First Position
	From  Time // the first list's from: the set's creation, or the epoch's own time
	Began Time
}

// Head is the end of a set's log and what is counted there.
type Head struct {
	Position Position
	// Time is the log's time: that of its last change, or the boundary of a cut
	// made right after it.
	Time Time
	// Changed is the time of the last change, or the set's creation.
	Changed Time
	// Segments have been cut so far.
	Segments SegmentNumber
	Records  int64 // live records
	// Resources of live records: their number, external ones included, and the
	// sum of BoundState.
	Resources Load
	Changes   [4]int64 // how many changes of each Kind the log holds
}

// View is a set as one read of its head shows it to one renderer: everything
// that a moving document depends on. Equal views of one renderer version yield
// equal documents.
type View struct {
	Set      Set
	Epoch    Epoch
	Revision int64 // raised by every commit, cut, publication and policy change
	Head     Head
	// Published is the newest segment whose documents of this renderer are
	// visible; its zero value is none.
	Published Segment
	// Next is the segment after Published when it is cut already, else nil.
	Next *Segment
	// Snapshot is the newest published snapshot of the epoch.
	Snapshot Snapshot
	// Ready is false while the epoch's renderers have not caught up: moving
	// documents are not available then.
	Ready bool
}

// Shown is the last position that moving documents show, and the time of the
// last change up to it: the published position and what follows, at most one
// more segment.
func (v *View) Shown() (Position, Time) {
	if v.Next != nil {
		return v.Next.Last, v.Next.Updated()
	}
	return v.Head.Position, v.Head.Changed
}

// Open is the segment number of the open change list.
func (v *View) Open() SegmentNumber { return v.Published.Number + 1 }

// OpenFrom is the boundary time at which the open change list begins.
func (v *View) OpenFrom() Time {
	if v.Published.Number == 0 {
		return v.Epoch.From
	}
	return v.Published.Until
}

// Snapshot is the state of a set at one position, published in parts.
type Snapshot struct {
	Number   SnapshotNumber
	Epoch    EpochNumber
	Position Position
	At       Time // the head's time when Position was the head
	Parts    int  // list parts; 0 in snapshot 0
	// Resources is how many resources it lists.
	Resources int64
	// Superseded is when a newer one was published; 0 while it is the newest.
	Superseded Time
}

// Document is a stored document: what its URL is, what its bytes are and where.
type Document struct {
	Path    string // below the base URL, beginning with a slash
	Type    string // Content-Type
	Content Content
	// Zstd is the length of a zstd frame of the same bytes, which lies in the
	// object right after the content's kept bytes; 0 is none.
	Zstd         int64
	Object       string // key in the object store
	LastModified Time
	// Snapshot is the one it belongs to, with which it expires; 0 is none.
	Snapshot SnapshotNumber
}

// Package is a dump package: a ZIP file that is never kept as such, but laid out
// and read from its members' content on request (ResourceSync 1.1 §11, §13).
type Package struct {
	Path     string // below the base URL
	Manifest string // path of its stored manifest, which is its first member
	// A package of a resource dump holds the resources, live at Position, of the
	// records First to Last. One of a change dump holds what the changes of
	// Segment created and updated.
	Snapshot SnapshotNumber // 0 in a change dump
	Position Position
	First    RecordNumber
	Last     RecordNumber
	Segment  SegmentNumber // 0 in a resource dump

	Layout       int   // version of the ZIP layout
	Members      int   // without the manifest
	Size         int64 // of the ZIP file
	Digest       [32]byte
	LastModified Time
}

// Place says where kept content lies: Stored bytes from Start of an object, or,
// when Object is "", in the database under its key.
type Place struct {
	Object string
	Start  int64
	Stored int64
}
