package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	driver "github.com/glebarez/go-sqlite"
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

// sqliteReaders is the size of the pool of reading connections.
const sqliteReaders = 4

// Primary result codes of SQLite; an extended code has one in its low byte.
const (
	sqliteBusy       = 5
	sqliteLocked     = 6
	sqliteConstraint = 19
)

type sqliteDialect struct{ path string }

// open opens the database file twice: one connection that writes, and several
// that only read and so never wait for it. Pages of 16 KiB hold rows of a few
// hundred bytes in a third of the space of the default ones; page size and
// auto-vacuum can only be chosen before the first table.
//
// The busy time-out is short because waiting for another process's transaction
// is done by write, which listens to its context and asks often enough to get
// in between two transactions of a bulk import.
func (d sqliteDialect) open(ctx context.Context, config *gorm.Config) (writer, reader *gorm.DB, err error) {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o755); err != nil {
		return nil, nil, err
	}
	writer, err = d.pool(ctx, config, 1, "page_size(16384)", "auto_vacuum(incremental)", "journal_mode(wal)",
		"synchronous(full)", "busy_timeout(2)", "cache_size(-49152)", "journal_size_limit(67108864)")
	if err != nil {
		return nil, nil, err
	}
	reader, err = d.pool(ctx, config, sqliteReaders, "query_only(1)", "busy_timeout(5000)", "cache_size(-8192)")
	return writer, reader, err
}

func (d sqliteDialect) pool(ctx context.Context, config *gorm.Config, size int, pragmas ...string) (*gorm.DB, error) {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(d.path), RawQuery: query.Encode()}
	var db *gorm.DB
	err := retrying(ctx, d, func() (err error) { // switching to WAL needs the file for itself for a moment
		db, err = gorm.Open(sqlite.Open(dsn.String()), config)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", d.path, err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return db, nil
}

func (sqliteDialect) create(t table) []string {
	word := func(kind, _ string) string {
		switch kind {
		case "text":
			return "TEXT"
		case "bytes", "blob":
			return "BLOB"
		}
		return "INTEGER"
	}
	statements := []string{createTable(t, word, nil, "WITHOUT ROWID")}
	for _, x := range t.indexes {
		unique := ""
		if x.unique {
			unique = "UNIQUE "
		}
		statements = append(statements, fmt.Sprintf("CREATE %sINDEX IF NOT EXISTS %s ON %s (%s)", unique, x.name, t.name, x.columns))
	}
	return append(statements, sqliteStatistics(t)...)
}

// sqliteStatistics tells the planner that a set has many rows. Left alone it
// takes one for ten rows, and reads all of a set to find a few hundred of its
// keys.
func sqliteStatistics(t table) []string {
	statements := []string{
		"ANALYZE sqlite_schema", // makes the table of statistics
		fmt.Sprintf("DELETE FROM sqlite_stat1 WHERE tbl = '%s'", t.name),
	}
	describe := func(index, columns string, unique bool) {
		stat, rows := "1000000", 100_000 // rows, then rows that share the first column, the first two, …
		names := strings.Split(columns, ", ")
		for i := range names {
			if unique && i == len(names)-1 {
				rows = 1
			}
			stat += fmt.Sprintf(" %d", rows)
			rows = max(1, rows/10)
		}
		statements = append(statements, fmt.Sprintf("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('%s', '%s', '%s')", t.name, index, stat))
	}
	describe(t.name, t.primary, true)
	for _, x := range t.indexes {
		describe(x.name, x.columns, x.unique)
	}
	return append(statements, "ANALYZE sqlite_schema") // loads it
}

// insert: a failed statement ends its transaction here, so SQLite need not keep
// what it would take to undo the statement alone.
func (sqliteDialect) insert() string { return "INSERT OR FAIL INTO " }

// clock is empty: all processes that share the file share the host's clock.
func (sqliteDialect) clock() string { return "" }

// forUpdate is empty: BEGIN IMMEDIATE has locked the database.
func (sqliteDialect) forUpdate() string { return "" }

func (sqliteDialect) upsert(key string, columns ...string) string {
	for i, c := range columns {
		columns[i] = c + "=excluded." + c
	}
	return " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(columns, ", ")
}

// parameters: the driver prepares a statement each time it runs and looks for
// each parameter among all, so long statements cost more than they save.
func (sqliteDialect) parameters() int { return 120 }

// pause leaves other processes a moment to take the write lock, which SQLite
// gives to whoever asks first and not to who waited longest.
func (sqliteDialect) pause() time.Duration { return 2 * time.Millisecond }

// shrink moves at most 4 MiB of pages, so that other writers get in between. The
// statement does one page each time it is stepped.
func (d sqliteDialect) shrink(ctx context.Context, writer *gorm.DB) error {
	return retrying(ctx, d, func() error {
		rows, err := writer.Statement.ConnPool.QueryContext(ctx, "PRAGMA incremental_vacuum(256)")
		if err != nil {
			return fmt.Errorf("shrink the database: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
		}
		return rows.Err()
	})
}

func (sqliteDialect) verdict(err error) verdict {
	var e *driver.Error
	if !errors.As(err, &e) {
		return verdictOf(err)
	}
	switch e.Code() & 0xff {
	case sqliteBusy, sqliteLocked:
		return busy
	case sqliteConstraint:
		return conflict
	}
	return final
}
