// Package store keeps sets and their logs in a SQL database, SQLite or anything
// that speaks MySQL's protocol, through GORM.
//
// What holds, under any number of processes that write and read the same
// database, under lost connections and after a crash at any moment:
//
//   - A transaction touches one set. It locks the set's head row first, so the
//     writers of a set come one after another, and writes the head last. Either
//     all of it is there or nothing.
//   - Positions come from the head, without holes; times rise strictly. A
//     segment's row is written by the commit that fills it.
//   - A conflict, a deadlock or a lost connection replays the whole
//     transaction. Each transaction that may not happen twice leaves a random
//     token; when the reply to COMMIT is lost, the next attempt takes the head
//     lock, which waits for the lost one to end, looks the token up, and replays
//     only if it is absent.
//   - What [Store.Commit] acknowledged is durable.
//   - Readers never wait for writers and hold no transaction between two steps of
//     an iteration: [Store.Changes] and [Store.States] read keyset pages.
//   - [Store.Publish] makes documents visible by compare-and-swap; nothing that
//     was visible under a URL is ever replaced.
//
// GORM opens the database, makes the tables and runs the small queries. The
// commit and the scans use the connection below it with multi-row statements
// and Rows.Scan, because reflection per row costs them most of their speed.
//
// docs/format/tables.md describes the tables.
package store

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"gateway/model"
)

// Objects reads what the object store holds.
type Objects interface {
	// Open opens the object, or returns [model.ErrNotFound].
	Open(ctx context.Context, key string) (model.Kept, error)
}

// Config says which database to open, and how.
type Config struct {
	// Database is "" for the SQLite file gateway.db in Dir, or
	// "mysql://user:pass@host:3306/name".
	Database string
	Dir      string // the data directory, made if missing; not used by MySQL
	Objects  Objects
	Limits   model.Limits
	Now      func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: nothing is logged
	// Renderers are the names whose positions count for Backlog, Due and
	// Committed.Waiting.
	Renderers []string
	// Fault is for tests, nil in life: it is called at the steps of a writing
	// transaction and of the making of tables, and its error takes the place of
	// a failure of that step. After "commit after" the transaction is durable.
	Fault func(step string) error
}

// Steps of a writing transaction that Config.Fault can fail.
const (
	FaultBegin        = "begin"
	FaultLocked       = "locked"        // the head lock is held, nothing is written
	FaultWritten      = "written"       // everything is written but the head
	FaultCommitBefore = "commit before" // COMMIT is not sent
	FaultCommitAfter  = "commit after"  // COMMIT took effect, its reply is lost
	FaultSchema       = "schema"        // after each statement that makes tables
)

// ErrLost, wrapped in the error of Config.Fault, stands for a lost connection.
var ErrLost = errors.New("connection lost")

// Store is an open database. Its methods are safe for concurrent use.
type Store struct {
	config Config
	limits model.Limits
	now    func() time.Time
	log    *slog.Logger

	dialect dialect
	writer  *gorm.DB // SQLite: one connection; MySQL: the same pool as reader
	reader  *gorm.DB
	views   views
	writes  atomic.Int64 // transactions so far, paces the removal of old tokens
	// restUntil is when this process may take the write lock again.
	restUntil atomic.Pointer[time.Time]
}

var _ model.Log = (*Store)(nil)

func (s *Store) fault(step string) error {
	if s.config.Fault == nil {
		return nil
	}
	return s.config.Fault(step)
}
