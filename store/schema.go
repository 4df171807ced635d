package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"gorm.io/gorm"
)

// schemaVersion is the newest step this program knows, and oldestWriter the
// oldest version that may write a database after that step.
const (
	schemaVersion = 1
	oldestWriter  = 1
)

// table describes one table in words that both dialects translate. Types are
// int (64 bits), tiny, text(n) and bytes(n) of at most n bytes, and blob; every
// column is NOT NULL unless it ends in "null". Text is compared byte by byte.
type table struct {
	name    string
	columns []string // "name type"
	primary string   // columns of the clustered primary key
	indexes []index
}

type index struct {
	name    string
	columns string
	unique  bool
}

// metaTable exists before any step: it says which steps were made.
func metaTable() table {
	return table{name: "meta", columns: []string{"name text(64)", "value text(1024)"}, primary: "name"}
}

// steps returns the tables that each schema version adds, version 1 first. A
// step only adds, and each of its statements can be run again, so that a step
// broken off at any statement is completed by the next Open. Released steps
// never change.
func steps() [][]table {
	return [][]table{{
		{
			name: "sets",
			columns: []string{"id int", "name text(64)", "private tiny", "metadata blob", "policy blob",
				"feed_id text(64)", "complete_id text(64)", "created int", "modified int"},
			primary: "id",
			indexes: []index{{"sets_name", "name", true}},
		},
		{
			name: "heads",
			columns: []string{"set_id int", "position int", "time int", "changed int", "boundary int",
				"tail_time int", "tail_changes int", "tail_entries int", "tail_bytes int", "tail_size int",
				"segments int", "numbers int", "content_keys int", "objects int",
				"records int", "entries int", "bytes int", "created int", "updated int", "deleted int",
				"epoch int", "snapshot int", "snapshot_position int", "snapshot_at int", "rendering int", "superseded int", "spent int", "sparse tiny",
				"revision int", "due int null"},
			primary: "set_id",
			indexes: []index{{"heads_due", "due, set_id", false}},
		},
		{
			name: "epochs",
			columns: []string{"set_id int", "number int", "reason text(64)", "base_url text(255)", "policy blob",
				"first_position int", "from_time int", "began int", "ready tiny"},
			primary: "set_id, number",
		},
		{
			name: "changes",
			columns: []string{"set_id int", "position int", "time int", "record int", "kind tiny", "previous int",
				"identifier bytes(2048)", "body blob"},
			primary: "set_id, position",
		},
		{
			name: "records",
			columns: []string{"set_id int", "number int", "id_hash bytes(32)", "position int", "time int", "kind tiny", "previous int",
				"identifier bytes(2048)", "body blob"},
			primary: "set_id, number",
			indexes: []index{{"records_identifier", "set_id, id_hash", true}},
		},
		{
			name: "segments",
			columns: []string{"set_id int", "number int", "first_position int", "last_position int",
				"from_time int", "until_time int", "last_key int"},
			primary: "set_id, number",
		},
		{
			name:    "content_bytes",
			columns: []string{"set_id int", "content_key int", "bytes blob"},
			primary: "set_id, content_key",
		},
		{
			name:    "places",
			columns: []string{"set_id int", "page int", "entries blob"},
			primary: "set_id, page",
		},
		{
			name:    "spent",
			columns: []string{"set_id int", "first_key int", "last_key int", "due int"},
			primary: "set_id, first_key",
		},
		{
			name:    "objects",
			columns: []string{"set_id int", "number int", "object text(255)", "size int", "contents int", "stored int"},
			primary: "set_id, number",
			indexes: []index{{"objects_object", "object", false}},
		},
		{
			name:    "positions",
			columns: []string{"set_id int", "epoch int", "renderer text(64)", "segment int"},
			primary: "set_id, epoch, renderer",
		},
		{
			name: "documents",
			columns: []string{"set_id int", "path text(512)", "epoch int", "snapshot int", "type text(255)",
				"sha256 bytes(32)", "crc32 int", "length int", "stored int", "deflated tiny", "zstd int",
				"object text(255)", "last_modified int"},
			primary: "set_id, path",
			indexes: []index{{"documents_snapshot", "set_id, epoch, snapshot", false}, {"documents_object", "object", false}},
		},
		{
			name: "packages",
			columns: []string{"set_id int", "path text(512)", "epoch int", "snapshot int", "segment int", "position int",
				"first_record int", "last_record int", "manifest text(512)", "layout int", "members int", "size int",
				"digest bytes(32)", "last_modified int"},
			primary: "set_id, path",
			indexes: []index{{"packages_order", "set_id, epoch, snapshot, segment, first_record", false}},
		},
		{
			name: "snapshots",
			columns: []string{"set_id int", "epoch int", "number int", "position int", "at int", "parts int",
				"resources int", "published tiny", "superseded int", "last_record int"},
			primary: "set_id, epoch, number",
		},
		{
			name:    "leases",
			columns: []string{"set_id int", "kind text(32)", "holder text(255)", "until_time int"},
			primary: "set_id, kind",
		},
		{
			name:    "writes",
			columns: []string{"set_id int", "token bytes(64)", "at int", "outcome blob"},
			primary: "set_id, token",
			indexes: []index{{"writes_at", "set_id, at", false}},
		},
		{
			name:    "intents",
			columns: []string{"set_id int", "object text(255)", "until_time int"},
			primary: "set_id, object",
			indexes: []index{{"intents_object", "object", false}},
		},
	}}
}

// migrate brings the database to schemaVersion, or refuses one that only a newer
// program may write.
func (s *Store) migrate(ctx context.Context) error {
	db := s.writer.WithContext(ctx)
	if err := s.create(db, metaTable()); err != nil {
		return err
	}
	made, err := metaNumber(db, "schema")
	if err != nil {
		return err
	}
	if err := s.mayWrite(db); err != nil {
		return err
	}
	for version := made + 1; version <= schemaVersion; version++ {
		for _, t := range steps()[version-1] {
			if err := s.create(db, t); err != nil {
				return err
			}
		}
		if err := setMeta(db, "writer", strconv.Itoa(oldestWriter)); err != nil {
			return err
		}
		if err := setMeta(db, "schema", strconv.Itoa(version)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) create(db *gorm.DB, t table) error {
	for _, statement := range s.dialect.create(t) {
		if err := db.Exec(statement).Error; err != nil {
			return fmt.Errorf("make table %s: %w", t.name, err)
		}
		if err := s.fault(FaultSchema); err != nil {
			return err
		}
	}
	return nil
}

// mayWrite checks that no newer program has forbidden this one to write.
func (s *Store) mayWrite(db *gorm.DB) error {
	writer, err := metaNumber(db, "writer")
	if err == nil && writer > schemaVersion {
		err = errNewer(writer)
	}
	return err
}

func errNewer(writer int) error {
	return fmt.Errorf("the database was upgraded by a newer gateway: only schema version %d or later may write it, this program has %d",
		writer, schemaVersion)
}

// createTable renders t with the dialect's word for each type, the clauses of
// its indexes, and what follows the closing bracket.
func createTable(t table, word func(kind, size string) string, indexes []string, options string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s (", t.name)
	for _, column := range t.columns {
		name, kind, _ := strings.Cut(column, " ")
		kind, null := strings.CutSuffix(kind, " null")
		kind, size, _ := strings.Cut(strings.TrimSuffix(kind, ")"), "(")
		b.WriteString(name + " " + word(kind, size))
		if !null {
			b.WriteString(" NOT NULL")
		}
		b.WriteString(", ")
	}
	fmt.Fprintf(&b, "PRIMARY KEY (%s)", t.primary)
	for _, x := range indexes {
		b.WriteString(", " + x)
	}
	b.WriteString(") " + options)
	return b.String()
}
