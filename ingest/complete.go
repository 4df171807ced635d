package ingest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"gateway/model"
)

// guard bounds how many records of a set may be deleted because the input lacks
// them. Its zero value is the default.
type guard struct {
	all  bool
	set  bool // most counts
	most int64
}

func parseGuard(s string) (guard, error) {
	switch s {
	case "":
		return guard{}, nil
	case "all":
		return guard{all: true}, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return guard{}, fmt.Errorf("max-deletes %q is neither a number nor all", s)
	}
	return guard{set: true, most: n}, nil
}

// allows is how many of live records may go.
func (g guard) allows(live int64) int64 {
	switch {
	case g.all:
		return live
	case g.set:
		return g.most
	}
	return max(live/10, 10)
}

// GuardError says that more records are missing from the input than may be
// deleted, so that none was.
type GuardError struct {
	Set     string
	Missing int64
	Live    int64 // when the import began
	Allowed int64
	Empty   bool // the input holds no record at all
}

func (e *GuardError) Error() string {
	if e.Empty {
		return fmt.Sprintf("set %s: the input is empty; nothing was deleted; --max-deletes all deletes all of its %d records", e.Set, e.Missing)
	}
	return fmt.Sprintf("set %s: %d of its %d records are missing from the input, more than %d; none was deleted; --max-deletes %d allows it",
		e.Set, e.Missing, e.Live, e.Allowed, e.Missing)
}

// numbers is a set of record numbers, at a bit each.
type numbers []uint64

func (n *numbers) add(r model.RecordNumber) {
	word := int(r / 64)
	for len(*n) <= word {
		*n = append(*n, 0)
	}
	(*n)[word] |= 1 << (r % 64)
}

func (n numbers) has(r model.RecordNumber) bool {
	word := int(r / 64)
	return word < len(n) && n[word]&(1<<(r%64)) != 0
}

// deleteMissing deletes from every set what the input lacks.
func (q *sequencer) deleteMissing(ctx context.Context) error {
	if q.result.Rejected > 0 {
		return fmt.Errorf("what the input lacks was not looked for, because %d lines were rejected; nothing was deleted for it", q.result.Rejected)
	}
	var all error
	for _, t := range q.targets.byNumber() {
		err := q.deleteMissingOf(ctx, t)
		if guarded := (*GuardError)(nil); err != nil && !errors.As(err, &guarded) {
			return errors.Join(all, fmt.Errorf("delete what is missing from set %s: %w", t.name, err))
		}
		all = errors.Join(all, err)
	}
	return all
}

// deleteMissingOf reads the set's state as it is now. A record that is live, did
// not change since the import began and is not in the input was live then, and
// nobody else touched it. The states are read twice, the first time to count.
func (q *sequencer) deleteMissingOf(ctx context.Context, t *target) error {
	_, head, err := q.im.store.OpenSet(ctx, t.name)
	if err != nil {
		return err
	}
	missing := func(c *model.Change) bool { return c.Position <= t.begin && !t.seen.has(c.Record) }
	var n int64
	for c, err := range q.im.store.States(ctx, t.id, head.Position, 0) {
		if err != nil {
			return err
		}
		if missing(c) {
			n++
		}
	}
	empty := q.records == 0
	if allowed := q.im.guard.allows(t.live); n > allowed || n > 0 && empty && !q.im.guard.all {
		return &GuardError{Set: t.name, Missing: n, Live: t.live, Allowed: allowed, Empty: empty}
	}
	if n == 0 {
		return nil
	}
	for c, err := range q.im.store.States(ctx, t.id, head.Position, 0) {
		if err != nil {
			return err
		}
		if !missing(c) {
			continue
		}
		position := c.Position
		in := model.Incoming{Record: model.Record{Identifier: c.Identifier, Deleted: true}, IfPosition: &position}
		if err := q.add(ctx, t, pending{incoming: in, missing: true}, weigh(&in)); err != nil {
			return err
		}
	}
	return q.flush(ctx, t)
}
