// Package ingest brings records in: it reads them, checks them, hashes and
// deflates their content on all cores, and commits them in batches.
//
// What holds for [Importer.Run], in the order in which it happens:
//
//  1. One goroutine reads the inputs one after the other and splits them into
//     lines. A line longer than the limit is skipped without being held.
//  2. Workers turn lines into what a commit takes. Content over 4 MiB, and what
//     a record has beyond 4 MiB in all, goes to an object first, as a stream. A
//     line that is wrong is rejected with its number and field and takes only
//     itself out.
//  3. One goroutine takes the results in the order of the input and commits them
//     in batches, one set each. So the records of a set are committed in the
//     order of the input, whatever the number of workers and the size of
//     batches; lines of different sets may overtake each other.
//  4. What was committed is there for good. An import that ends early, by an
//     error or because its context is done, ends after the commit that is
//     running; running it again does the rest, because an equal state writes
//     nothing.
//  5. With [Config.Complete], after the whole input was read without a rejected
//     line, records that the input lacks are deleted, under a guard.
//
// Memory stays flat: what is under way is bounded in bytes at every step, and of
// lines over half a MiB there is one at a time.
package ingest

import (
	"context"
	"fmt"
	"io"
	"iter"
	"runtime"
	"time"

	"gateway/model"
)

// Store is where records go, and what [Config.Complete] reads.
type Store interface {
	// OpenSet returns the set called name and the head of its log; it creates
	// the set with the defaults if there is none. It may be called by several
	// goroutines at once, for different sets.
	OpenSet(ctx context.Context, name string) (model.Set, model.Head, error)
	// Commit appends a change for every record of batch that differs from its
	// state, in order and in one transaction. A record that is rejected has the
	// reason in its outcome and takes only itself out. On error none of them is
	// acknowledged.
	Commit(ctx context.Context, set model.SetID, batch []model.Incoming) (Committed, error)
	// ReserveObject keeps the object called key, which a coming commit to set
	// will refer to, from being collected for the time d.
	ReserveObject(ctx context.Context, set model.SetID, key string, d time.Duration) error
	// Heads returns the heads of all sets by name. Asked only for
	// [Config.Complete] with [Config.SetFrom].
	Heads(ctx context.Context) (map[string]model.Head, error)
	// States is [model.Log.States]. Asked only for [Config.Complete].
	States(ctx context.Context, set model.SetID, at model.Position, after model.RecordNumber) iter.Seq2[*model.Change, error]
}

// Committed is what a commit did.
type Committed struct {
	Outcomes []model.Outcome // parallel to the batch
	Held     bool            // the publishing lease that the store was to take is held
	Waiting  int             // cut segments that are not published yet
	Head     model.Position
}

// Objects takes content that is too large for a commit.
type Objects interface {
	// Create keeps what r yields under key, durable and whole when it returns
	// nil, and returns its size.
	Create(ctx context.Context, key string, r io.Reader) (int64, error)
	// Delete removes an object; one that is not there is no error.
	Delete(ctx context.Context, key string) error
}

// Config says how an import is done. Zero fields mean the stated defaults.
type Config struct {
	// Set is the name of the set that takes the records, unless SetFrom names
	// the field of each line that holds it: an extra one, which is no part of
	// the record, or "collections", of which the first counts. One of the two.
	Set     string
	SetFrom string
	// Files is the directory below which content_file is looked up; "" refuses
	// it.
	Files string
	// MaxLine is how many bytes a line may have: 64 MiB.
	MaxLine int
	// Workers is how many lines are worked on at once: one per processor.
	Workers int
	// BatchRecords and BatchBytes bound a commit: 1,000 records and 4 MiB of
	// kept content and metadata, which are also the most.
	BatchRecords int
	BatchBytes   int

	// Complete says that the input is everything there is: what it lacks is
	// deleted.
	Complete bool
	// MaxDeletes is how many missing records of one set may be deleted: a
	// number, "all", or "" for a tenth of the set, at least 10.
	MaxDeletes string

	// The hooks below are called by one goroutine, never two at once; nil ones
	// are not. Rejected and Warned get what is wrong with a line, in the order
	// of the input; what the store rejects comes when its batch is committed.
	Rejected func(Finding)
	Warned   func(Finding)
	// Committed is called after each commit. It may take its time, which slows
	// the import down; its error ends it.
	Committed func(ctx context.Context, set model.Set, c Committed) error
	Progress  func(Progress)
}

// Finding is something about one line that its sender should know: why it was
// rejected, or what was changed in it.
type Finding struct {
	Input  string // name of the file
	Line   int64  // from 1
	Field  string // path, as "representations[1].type"; "" is the line as a whole
	Reason string
}

func (f Finding) String() string {
	e := model.FieldError{Field: f.Field, Reason: f.Reason}
	return fmt.Sprintf("%s:%d: %s", f.Input, f.Line, e.Error())
}

// Progress says how far an import has come.
type Progress struct {
	Lines int64 // read and worked on
	Bytes int64 // of the inputs as they are, compressed or not
	Total int64 // of all inputs; 0 is unknown
}

// Result counts what became of the lines of an import, and of the records that
// [Config.Complete] deleted.
type Result struct {
	Created   int64
	Updated   int64
	Deleted   int64
	Unchanged int64
	Rejected  int64
}

// Bounds of an import.
const (
	maxBatchRecords = 1000    // of one transaction
	maxBatchBytes   = 4 << 20 // of one transaction
	maxPendingBytes = 32 << 20
	maxInline       = 4 << 20 // bytes of a record's content that are not sent to objects

	defaultMaxLine = 64 << 20
	chunkSize      = 256 << 10 // how much input a worker gets at once
	resultBytes    = 1 << 20   // how much a worker holds back before it hands on

	// reserveFor is how long an object waits for the commit that refers to it.
	reserveFor = 24 * time.Hour
)

// Importer runs imports of one configuration.
type Importer struct {
	store   Store
	objects Objects
	config  Config
	chunk   int // chunkSize and maxInline, which tests lower
	inline  int
	guard   guard
}

// New returns an importer into store. objects takes large content.
func New(store Store, objects Objects, c Config) (*Importer, error) {
	switch {
	case (c.Set == "") == (c.SetFrom == ""):
		return nil, fmt.Errorf("want the name of a set, or the field that holds it in each line, and not both")
	case c.Set != "" && !model.ValidSetName(c.Set):
		return nil, fmt.Errorf("%q is not a set's name; want 1 to 64 of a-z 0-9 - _", c.Set)
	case c.SetFrom != "collections" && isRecordField(c.SetFrom):
		return nil, fmt.Errorf("%q is a field of the record itself; the set's name comes from an extra field or from collections", c.SetFrom)
	}
	g, err := parseGuard(c.MaxDeletes)
	if err != nil {
		return nil, err
	}
	c.MaxLine = orDefault(c.MaxLine, defaultMaxLine)
	c.Workers = orDefault(c.Workers, runtime.GOMAXPROCS(0))
	c.BatchRecords = min(orDefault(c.BatchRecords, maxBatchRecords), maxBatchRecords)
	c.BatchBytes = min(orDefault(c.BatchBytes, maxBatchBytes), maxBatchBytes)
	return &Importer{store: store, objects: objects, config: c, chunk: chunkSize, inline: maxInline, guard: g}, nil
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}
