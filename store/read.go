package store

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"gorm.io/gorm"

	"gateway/model"
)

// A page of a scan ends after pageRows rows, or after pageBytes of them, so that
// large records do not fill the memory.
const (
	pageRows  = 1000
	pageBytes = 2 << 20
)

// Changes implements [model.Log].
func (s *Store) Changes(ctx context.Context, set model.SetID, after, last model.Position) iter.Seq2[*model.Change, error] {
	return func(yield func(*model.Change, error) bool) {
		var c model.Change
		var p page
		for after < last {
			const query = "SELECT " + changeColumns + " FROM changes WHERE set_id = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?"
			if err := p.read(ctx, s.reader, query, set, after, last, pageRows); err != nil {
				yield(nil, fmt.Errorf("read changes after %d: %w", after, err))
				return
			}
			if len(p.rows) == 0 {
				return
			}
			for i := range p.rows {
				err := p.rows[i].parse(&c)
				if err == nil && c.Position != after+1 {
					err = fmt.Errorf("change %d is missing", after+1)
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(&c, nil) {
					return
				}
				after = model.Position(p.rows[i].position)
			}
		}
	}
}

// States implements [model.Log]. A record whose newest change is at or before
// the position is taken from its row; of the others the changes tell, each
// naming the one before it. Both never change, so the state is exact whatever
// is written meanwhile.
func (s *Store) States(ctx context.Context, set model.SetID, at model.Position, after model.RecordNumber) iter.Seq2[*model.Change, error] {
	return func(yield func(*model.Change, error) bool) {
		var c model.Change
		var p page
		for {
			const query = "SELECT " + recordColumns + " FROM records WHERE set_id = ? AND number > ? ORDER BY number LIMIT ?"
			if err := p.read(ctx, s.reader, query, set, after, pageRows); err != nil {
				yield(nil, fmt.Errorf("read records after %d: %w", after, err))
				return
			}
			if len(p.rows) == 0 {
				return
			}
			after = model.RecordNumber(p.rows[len(p.rows)-1].record)
			if err := s.goBack(ctx, set, at, p.rows); err != nil {
				yield(nil, err)
				return
			}
			for i := range p.rows {
				r := &p.rows[i]
				if r.position == 0 || model.Kind(r.kind) == model.Deleted {
					continue
				}
				if err := r.parse(&c); err != nil {
					yield(nil, err)
					return
				}
				if !yield(&c, nil) {
					return
				}
			}
		}
	}
}

// goBack replaces each row that is newer than at by the record's newest change
// at or before it, or by position 0 when there is none.
func (s *Store) goBack(ctx context.Context, set model.SetID, at model.Position, rows []changeRow) error {
	newer := map[number]*changeRow{} // by the position to look at next
	step := func(r *changeRow) {
		if r.position <= number(at) {
			return
		}
		if r.previous == 0 {
			r.position = 0
			return
		}
		newer[r.previous] = r
	}
	for i := range rows {
		step(&rows[i])
	}
	for len(newer) > 0 {
		positions := slices.Sorted(maps.Keys(newer))
		var p page
		if err := p.readAt(ctx, s.reader, set, positions[:min(len(positions), pageRows/2)]); err != nil {
			return fmt.Errorf("read earlier changes: %w", err)
		}
		if len(p.rows) == 0 {
			return fmt.Errorf("change %d is missing, which comes before change %d of its record", positions[0], newer[positions[0]].position)
		}
		for i := range p.rows { // not all of them, when they are large
			r := newer[p.rows[i].position]
			delete(newer, p.rows[i].position)
			*r = p.rows[i]
			step(r)
		}
	}
	return nil
}

// page is a part of a scan in memory: the query is over before its rows are
// handed out, however long that takes.
type page struct{ rows []changeRow }

// read fills p with the first rows of the query, at least one if there is one.
func (p *page) read(ctx context.Context, db *gorm.DB, query string, args ...any) error {
	p.rows = p.rows[:0]
	rows, err := db.Statement.ConnPool.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	scan := newChangeScanner(rows, false)
	for bytes := 0; bytes < pageBytes; {
		ok, err := scan.next()
		if err != nil || !ok {
			return err
		}
		bytes += len(scan.row.body)
		p.rows = append(p.rows, scan.row)
	}
	return nil
}

// readAt is read for the changes at the given positions.
func (p *page) readAt(ctx context.Context, db *gorm.DB, set model.SetID, positions []number) error {
	args := make([]any, 1, 1+len(positions))
	args[0] = set
	for _, position := range positions {
		args = append(args, int64(position))
	}
	query := "SELECT " + changeColumns + " FROM changes WHERE set_id = ? AND position IN (" + marks(len(positions)) + ")"
	return p.read(ctx, db, query, args...)
}

// Record returns the newest change of the record, also of a deleted one.
func (s *Store) Record(ctx context.Context, set model.SetID, number model.RecordNumber) (*model.Change, error) {
	return s.record(ctx, "number = ?", set, number)
}

// RecordByIdentifier is Record by the record's identifier.
func (s *Store) RecordByIdentifier(ctx context.Context, set model.SetID, identifier string) (*model.Change, error) {
	id := identifierHash(identifier)
	return s.record(ctx, "id_hash = ?", set, id[:])
}

func (s *Store) record(ctx context.Context, where string, args ...any) (*model.Change, error) {
	var p page
	if err := p.read(ctx, s.reader, "SELECT "+recordColumns+" FROM records WHERE set_id = ? AND "+where, args...); err != nil {
		return nil, fmt.Errorf("read a record: %w", err)
	}
	if len(p.rows) == 0 {
		return nil, model.ErrNotFound
	}
	c := new(model.Change)
	return c, p.rows[0].parse(c)
}
