package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"gateway/model"
)

// pending is a record that waits in a batch.
type pending struct {
	incoming model.Incoming
	input    string // where it comes from
	line     int64
	missing  bool // no line: a deletion of what the input lacks
}

// sequencer gathers records into batches and commits them. One goroutine runs
// it, and calls the hooks.
type sequencer struct {
	im      *Importer
	targets *targets
	read    *atomic.Int64
	total   int64

	result  Result
	lines   int64
	records int64            // lines that are records
	waiting map[*target]bool // those with a batch
	weight  int              // of all batches
	clock   int64            // counts records added
	batch   []model.Incoming // of the commit that is running
	spare   []pending        // memory of a batch that was committed
}

// take takes the result of one line.
func (q *sequencer) take(ctx context.Context, input string, r *result) error {
	q.lines++
	if q.im.config.Warned != nil && !failed(r.err) {
		for _, w := range r.warnings {
			q.im.config.Warned(Finding{Input: input, Line: r.line, Field: w.Field, Reason: w.Reason})
		}
	}
	if failed(r.err) {
		if err := ended(ctx); err != nil {
			return err
		}
		return fmt.Errorf("%s:%d: %w", input, r.line, r.err)
	}
	q.records++
	if r.err != nil {
		q.reject(input, r.line, r.err)
		return nil
	}
	return q.add(ctx, r.set, pending{incoming: r.incoming, input: input, line: r.line}, r.weight)
}

func (q *sequencer) reject(input string, line int64, err error) {
	q.result.Rejected++
	if q.im.config.Rejected == nil {
		return
	}
	f := Finding{Input: input, Line: line, Reason: err.Error()}
	if x, ok := errors.AsType[*model.FieldError](err); ok {
		f.Field, f.Reason = x.Field, x.Reason
	}
	q.im.config.Rejected(f)
}

// add puts a record into its set's batch, and commits batches that are full. So
// that many sets at once stay within bounds, those that waited longest are
// committed first.
func (q *sequencer) add(ctx context.Context, t *target, p pending, weight int) error {
	if len(t.batch) > 0 && t.weight+weight > q.im.config.BatchBytes {
		if err := q.flush(ctx, t); err != nil {
			return err
		}
	}
	if q.waiting == nil {
		q.waiting = map[*target]bool{}
	}
	if t.batch == nil {
		t.batch, q.spare = q.spare, nil
	}
	q.clock++
	t.batch, t.weight, t.used = append(t.batch, p), t.weight+weight, q.clock
	q.waiting[t], q.weight = true, q.weight+weight
	if len(t.batch) >= q.im.config.BatchRecords {
		return q.flush(ctx, t)
	}
	for q.weight > maxPendingBytes {
		if err := q.flush(ctx, q.oldest()); err != nil {
			return err
		}
	}
	return nil
}

// oldest is the set with a batch that got nothing for the longest time.
func (q *sequencer) oldest() *target {
	var oldest *target
	for t := range q.waiting {
		if oldest == nil || t.used < oldest.used {
			oldest = t
		}
	}
	return oldest
}

func (q *sequencer) flushAll(ctx context.Context) error {
	for len(q.waiting) > 0 {
		if err := q.flush(ctx, q.oldest()); err != nil {
			return err
		}
	}
	return ended(ctx)
}

func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the import was stopped: %w", context.Cause(ctx))
}

// flush commits the batch of t. A commit once begun is not cancelled, so that
// what it did is known.
func (q *sequencer) flush(ctx context.Context, t *target) error {
	if err := ended(ctx); err != nil {
		return err
	}
	if len(t.batch) == 0 {
		return nil
	}
	q.batch = q.batch[:0]
	for i := range t.batch {
		q.batch = append(q.batch, t.batch[i].incoming)
	}
	c, err := q.im.store.Commit(context.WithoutCancel(ctx), t.id, q.batch)
	if err != nil {
		return fmt.Errorf("commit to set %s: %w", t.name, err)
	}
	if len(c.Outcomes) != len(t.batch) {
		return fmt.Errorf("commit to set %s: %d outcomes for %d records", t.name, len(c.Outcomes), len(t.batch))
	}
	for i := range t.batch {
		q.outcome(ctx, t, &t.batch[i], &c.Outcomes[i])
	}
	clear(t.batch)
	clear(q.batch)
	q.weight -= t.weight
	t.batch, t.weight, q.spare = nil, 0, t.batch[:0] // a set that may be done keeps no memory
	delete(q.waiting, t)
	if q.im.config.Committed != nil {
		return q.im.config.Committed(ctx, t.set, c)
	}
	return nil
}

// outcome counts what became of a record.
func (q *sequencer) outcome(ctx context.Context, t *target, p *pending, o *model.Outcome) {
	if o.Err != nil || o.Kind == model.Same {
		q.im.discard(ctx, p.incoming.Bodies) // nothing was written that would refer to them
	}
	if p.missing && o.Err != nil && errors.Is(o.Err, model.ErrPrecondition) {
		return // changed meanwhile, so it stays
	}
	if o.Err != nil {
		q.reject(p.input, p.line, o.Err)
		return
	}
	if q.im.config.Complete && o.Number > 0 {
		t.seen.add(o.Number)
	}
	switch o.Kind {
	case model.Created:
		q.result.Created++
	case model.Updated:
		q.result.Updated++
	case model.Deleted:
		q.result.Deleted++
	case model.Same:
		if !p.missing {
			q.result.Unchanged++
		}
	}
}

func (q *sequencer) progress() {
	if q.im.config.Progress != nil {
		q.im.config.Progress(Progress{Lines: q.lines, Bytes: q.read.Load(), Total: q.total})
	}
}
