package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"gateway/model"
)

// Columns of a change, as scanChanges reads them. In records they are those of
// the record's newest change.
const (
	changeColumns = "position, time, record, kind, previous, identifier, body"
	recordColumns = "position, time, number, kind, previous, identifier, body"
)

// changeRow is a change as it is stored.
type changeRow struct {
	position, time, record, kind, previous number

	identifier, body string
	hash             [32]byte // of the identifier, when it was asked for
}

// parse makes r a change. The strings of c share r's memory; its slices are
// reused.
func (r *changeRow) parse(c *model.Change) error {
	c.Position, c.Time = model.Position(r.position), model.Time(r.time)
	c.Record, c.Kind = model.RecordNumber(r.record), model.Kind(r.kind)
	c.Previous, c.Identifier = model.Position(r.previous), r.identifier
	if err := c.ParseBody(r.body); err != nil {
		return fmt.Errorf("change %d: %w", c.Position, err)
	}
	return nil
}

// number scans an integer without the reflection that database/sql would use.
type number int64

// Scan implements [sql.Scanner].
func (n *number) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		*n = number(v)
		return nil
	case []byte:
		i, err := strconv.ParseInt(string(v), 10, 64)
		*n = number(i)
		return err
	}
	return fmt.Errorf("%T is no integer", src)
}

// changeScanner reads rows one by one into row.
type changeScanner struct {
	rows *sql.Rows
	row  changeRow
	dest []any

	identifier, body, hash sql.RawBytes
}

// newChangeScanner reads changeColumns or recordColumns, and id_hash after them
// if withHash.
func newChangeScanner(rows *sql.Rows, withHash bool) *changeScanner {
	s := &changeScanner{rows: rows}
	r := &s.row
	s.dest = []any{&r.position, &r.time, &r.record, &r.kind, &r.previous, &s.identifier, &s.body}
	if withHash {
		s.dest = append(s.dest, &s.hash)
	}
	return s
}

func (s *changeScanner) next() (bool, error) {
	if !s.rows.Next() {
		return false, s.rows.Err()
	}
	if err := s.rows.Scan(s.dest...); err != nil {
		return false, err
	}
	// One allocation for both, and the driver's memory is not kept.
	var b strings.Builder
	b.Grow(len(s.identifier) + len(s.body))
	b.Write(s.identifier)
	b.Write(s.body)
	text := b.String()
	s.row.identifier, s.row.body = text[:len(s.identifier)], text[len(s.identifier):]
	copy(s.row.hash[:], s.hash)
	return true, nil
}

// scanChanges calls f for each row and closes rows.
func scanChanges(rows *sql.Rows, withHash bool, f func(*changeRow) error) error {
	defer rows.Close()
	s := newChangeScanner(rows, withHash)
	for {
		ok, err := s.next()
		if err != nil || !ok {
			return err
		}
		if err := f(&s.row); err != nil {
			return err
		}
	}
}

// marks is "?, ?, …" for n parameters.
func marks(n int) string { return strings.Repeat(", ?", n)[2:] }

// isNoRow tells that a query for one row found none.
func isNoRow(err error) bool { return errors.Is(err, gorm.ErrRecordNotFound) }

// orNotFound replaces "no row" by [model.ErrNotFound].
func orNotFound(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	if isNoRow(err) {
		err = model.ErrNotFound
	}
	return fmt.Errorf(what+": %w", append(args, err)...)
}

// scanRows calls f for each row of a query for an integer and bytes, which are
// valid until f returns.
func scanRows(ctx context.Context, pool gorm.ConnPool, query string, args []any, f func(number, []byte) error) error {
	rows, err := pool.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var n number
	var b sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&n, &b); err != nil {
			return err
		}
		if err := f(n, b); err != nil {
			return err
		}
	}
	return rows.Err()
}
