package store

import (
	"context"
	"fmt"

	"gateway/model"
)

// Problem is a damage that Check found.
type Problem struct {
	Set   string // its name; "" for the store as a whole
	Where string // "change 17", "segment 3", "document /rs/…"
	What  string
}

func (p Problem) String() string {
	if p.Set == "" {
		return p.Where + ": " + p.What
	}
	return "set " + p.Set + ": " + p.Where + ": " + p.What
}

// Check verifies the store from inside and reports every damage; the error is
// for a check that could not be made. It may run beside writers: of each set it
// looks at the log up to where the head was when its turn came.
//
// It holds for every set that
//
//   - positions have no holes, times rise strictly, each change names the one
//     before it of its record, and the segments tile the log without a change on
//     a boundary;
//   - each record's row is the fold of its changes, and the head counts what is
//     there;
//   - content that changes name is there and has its length and sums, the bytes
//     in the database too while their content has a place in an object;
//   - objects that hold content are there, long enough, and counted;
//   - published positions do not pass the log, and every document's object
//     exists and has its length and sums;
//   - packages have their manifest.
func (s *Store) Check(ctx context.Context, report func(Problem)) error {
	if err := s.mayWrite(s.reader.WithContext(ctx)); err != nil {
		report(Problem{Where: "meta", What: err.Error()})
	}
	var after model.SetID
	for {
		var ids []model.SetID
		err := s.reader.WithContext(ctx).Model(&setRow{}).Where("id > ?", after).Order("id").Limit(pageRows).Pluck("id", &ids).Error
		if err != nil {
			return fmt.Errorf("check: read sets: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		for _, id := range ids {
			if err := s.checkSet(ctx, id, report); err != nil {
				return fmt.Errorf("check set %d: %w", id, err)
			}
			after = id
		}
	}
}

// check is the check of one set.
type check struct {
	s      *Store
	ctx    context.Context
	set    model.Set
	view   model.View
	head   head
	report func(where, format string, args ...any)

	newest []model.Position // of each record by its number, up to the head
	kinds  []model.Kind     // … of that change
	keys   model.ContentKey // the last that a change gave out
	tail   head             // counted: only what belongs to the tail
}

func (s *Store) checkSet(ctx context.Context, id model.SetID, report func(Problem)) error {
	found, err := readViews(ctx, s.reader, "", " WHERE s.id = ?", id)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		var row setRow
		if err := s.reader.WithContext(ctx).Take(&row, "id = ?", id).Error; err != nil {
			return err
		}
		report(Problem{Set: row.Name, Where: "head", What: "it or the epoch it names is missing"})
		return nil
	}
	v := found[0].view
	c := check{s: s, ctx: ctx, set: v.Set, view: v, head: found[0].head}
	c.report = func(where, format string, args ...any) {
		report(Problem{Set: v.Set.Name, Where: where, What: fmt.Sprintf(format, args...)})
	}
	for _, part := range []func() error{c.log, c.records, c.counts, c.objects, c.spent, c.published, c.documents, c.packages} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}
