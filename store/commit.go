package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"gateway/model"
)

// MaxRecords is how many records one commit takes, so that no transaction keeps
// the others waiting for long. The caller also keeps their content below about
// 4 MiB, what exceeds that in objects.
const MaxRecords = 1000

// CommitOptions go with a commit. The zero value asks for nothing.
type CommitOptions struct {
	// Hold takes the publishing lease for this holder in the same transaction
	// when it is free, for HoldFor.
	Hold    string
	HoldFor time.Duration
}

// Committed is what a commit did.
type Committed struct {
	Outcomes []model.Outcome // parallel to the batch
	// Held tells that the lease asked for is held.
	Held bool
	// Waiting is how many cut segments the slowest renderer has not published.
	Waiting int
	Head    model.Position
}

// Commit appends a change for each record of the batch that differs from its
// current state; each sees the ones before it. A record that is rejected takes
// only itself out. If nothing differs, nothing is written. On an error none of
// the batch is in the log; without one, all of it is durable.
func (s *Store) Commit(ctx context.Context, set model.SetID, batch []model.Incoming, o CommitOptions) (Committed, error) {
	if len(batch) > MaxRecords {
		return Committed{}, fmt.Errorf("commit: %d records in one batch; at most %d", len(batch), MaxRecords)
	}
	ids := make([][sha256.Size]byte, len(batch))
	for i := range batch {
		ids[i] = identifierHash(batch[i].Record.Identifier)
	}
	var done Committed
	err := s.write(ctx, "commit", set, func(t *tx) (err error) {
		c := newCommit(t, batch, ids)
		if err := c.readStates(); err != nil {
			return err
		}
		for i := range batch {
			if err := c.record(i); err != nil {
				return err
			}
		}
		done = Committed{Outcomes: c.outcomes, Head: t.head.Position}
		slowest, err := t.slowest()
		if err != nil {
			return err
		}
		done.Waiting = int(t.head.Segments - slowest)
		if len(c.touched) == 0 {
			if o.Hold != "" {
				done.Held, err = t.holds(o.Hold)
			}
			return cmp.Or(err, errNothing)
		}
		if err := c.flush(); err != nil {
			return err
		}
		if o.Hold != "" {
			done.Held, err = t.lease(o.Hold, o.HoldFor)
		}
		return err
	})
	if err != nil {
		return Committed{}, err
	}
	return done, nil
}

// identifierHash finds a record by its identifier: byte by byte, with a key of
// one length.
func identifierHash(identifier string) [sha256.Size]byte { return sha256.Sum256([]byte(identifier)) }

// commit is a batch on its way into the log.
type commit struct {
	t        *tx
	head     *head
	batch    []model.Incoming
	ids      [][sha256.Size]byte
	clock    model.Time
	states   map[[sha256.Size]byte]*recordState
	touched  []*recordState
	outcomes []model.Outcome
	body     []byte // of the changes so far, one after another

	placed []placed // content that came as objects

	changes, bytes, objects, segments inserter
}

// recordState is the newest change of a record that the batch names.
type recordState struct {
	id     [sha256.Size]byte
	change *model.Change
	body   []byte // of change, when it was made by this batch
	known  bool   // has a row already
}

func newCommit(t *tx, batch []model.Incoming, ids [][sha256.Size]byte) *commit {
	c := &commit{
		t: t, head: t.head, batch: batch, ids: ids,
		clock:    model.TimeOf(t.s.now()),
		states:   make(map[[sha256.Size]byte]*recordState, len(batch)),
		outcomes: make([]model.Outcome, len(batch)),
		changes:  t.inserter("changes", "set_id", "position", "time", "record", "kind", "previous", "identifier", "body"),
		bytes:    t.inserter("content_bytes", "set_id", "content_key", "bytes"),
		objects:  t.inserter("objects", objectColumns()...),
		segments: t.segmentInserter(),
	}
	if ahead := c.head.Time - c.clock; ahead > maxSkew {
		t.s.log.Warn("the log is ahead of the clock and goes on in steps of a microsecond",
			"set", t.info.name, "ahead", (time.Duration(ahead) * time.Microsecond).String())
	}
	return c
}

// readStates reads the current state of every record the batch names.
func (c *commit) readStates() error {
	if c.head.Numbers == 0 {
		return nil
	}
	const most = 500 // parameters of one query
	for ids := range slices.Chunk(c.ids, most) {
		args := make([]any, 1, 1+len(ids))
		args[0] = c.t.set
		for i := range ids {
			args = append(args, ids[i][:])
		}
		query := "SELECT " + recordColumns + ", id_hash FROM records WHERE set_id = ? AND id_hash IN (" + marks(len(ids)) + ")"
		rows, err := c.t.sql.QueryContext(c.t.ctx, query, args...)
		if err != nil {
			return fmt.Errorf("read records: %w", err)
		}
		err = scanChanges(rows, true, func(r *changeRow) error {
			state := &recordState{id: r.hash, change: new(model.Change), known: true}
			c.states[r.hash] = state
			return r.parse(state.change)
		})
		if err != nil {
			return fmt.Errorf("read records: %w", err)
		}
	}
	return nil
}

// record brings record i of the batch into the log, if it differs.
func (c *commit) record(i int) error {
	in := &c.batch[i]
	state := c.states[c.ids[i]]
	var current *model.Change
	if state != nil {
		current = state.change
		c.outcomes[i] = model.Outcome{Number: current.Record, Position: current.Position}
	}
	if reason, err := c.reject(in, c.outcomes[i].Position); reason != nil || err != nil {
		c.outcomes[i].Err = reason
		return err
	}
	number := c.head.Numbers + 1
	change, ok := model.Compare(current, &in.Record, number, c.head.Position+1, c.nextTime())
	if !ok {
		return nil
	}
	load := model.Bound(&change)
	if c.head.Tail.Before(load, c.t.s.limits) {
		if err := c.cut(); err != nil {
			return err
		}
		change, _ = model.Compare(current, &in.Record, number, c.head.Position+1, c.nextTime())
	}
	if err := c.keep(&change, in.Bodies); err != nil {
		return err
	}
	if state == nil {
		c.head.Numbers = number
		state = &recordState{id: c.ids[i]}
		c.states[c.ids[i]] = state
	}
	c.count(current, &change)
	c.outcomes[i] = model.Outcome{Number: change.Record, Position: change.Position, Kind: change.Kind}
	if err := c.append(state, &change); err != nil {
		return err
	}
	if c.head.TailTime == 0 {
		c.head.TailTime, c.head.TailSize = change.Time, c.t.info.policy.SegmentSize
	}
	if c.head.Tail.Add(load, c.head.TailSize) {
		return c.cut()
	}
	return nil
}

// reject returns the reason why a record must not come in.
func (c *commit) reject(in *model.Incoming, position model.Position) (reason, err error) {
	if in.IfPosition != nil && *in.IfPosition != position {
		return fmt.Errorf("the record's last change is %d, not %d: %w", position, *in.IfPosition, model.ErrPrecondition), nil
	}
	for i := range in.Bodies {
		if object := in.Bodies[i].Object; object != "" {
			reserved, err := c.t.reserved(object)
			if err != nil {
				return nil, err
			}
			if !reserved {
				return fmt.Errorf("object %s is not reserved any more: %w", object, model.ErrPrecondition), nil
			}
		}
	}
	return nil, nil
}

func (c *commit) nextTime() model.Time { return max(c.clock, c.head.Time+1) }

// keep gives keys to the content that is new and writes it.
func (c *commit) keep(change *model.Change, bodies []model.Body) error {
	for i := range change.Resources {
		r := &change.Resources[i]
		if r.Key != 0 || r.External() {
			continue
		}
		c.head.ContentKeys++
		r.Key = c.head.ContentKeys
		if i >= len(bodies) {
			return fmt.Errorf("record %q, %q: its content did not come", change.Identifier, r.Name)
		}
		body := bodies[i]
		if body.Object != "" {
			if err := c.reference(r, body.Object); err != nil {
				return err
			}
			continue
		}
		if int64(len(body.Bytes)) != r.Content.Stored {
			return fmt.Errorf("record %q, %q: %d bytes came for %d", change.Identifier, r.Name, len(body.Bytes), r.Content.Stored)
		}
		kept := body.Bytes
		if kept == nil {
			kept = []byte{} // no NULL
		}
		if err := c.bytes.add(len(kept), c.t.set, r.Key, kept); err != nil {
			return err
		}
	}
	return nil
}

// reference makes r's content a part of an object that was reserved.
func (c *commit) reference(r *model.Resource, object string) error {
	c.head.Objects++
	if err := c.objects.add(len(object), c.t.set, c.head.Objects, object, r.Content.Stored, 0, 0); err != nil {
		return err
	}
	if err := c.t.db.Exec("DELETE FROM intents WHERE set_id = ? AND object = ?", c.t.set, object).Error; err != nil {
		return fmt.Errorf("end the reservation of %s: %w", object, err)
	}
	// The row must be there for the next record with the same object.
	if err := c.objects.flush(); err != nil {
		return err
	}
	where := place{object: c.head.Objects, stored: r.Content.Stored}
	if !r.Content.Deflated {
		where.sum, where.summed = r.Content.CRC32, true
	}
	c.placed = append(c.placed, placed{r.Key, where})
	return nil
}

// count updates what the head counts.
func (c *commit) count(current, change *model.Change) {
	h := c.head
	h.Changes[change.Kind]++
	if current != nil && current.Live() {
		h.Records--
		h.Resources = h.Resources.Minus(model.BoundState(current))
	}
	if change.Live() {
		h.Records++
		h.Resources = h.Resources.Plus(model.BoundState(change))
	}
}

// append writes the change and makes it the newest of its record.
func (c *commit) append(state *recordState, change *model.Change) error {
	start := len(c.body)
	c.body = change.AppendBody(c.body)
	body := c.body[start:len(c.body):len(c.body)]
	if state.body == nil {
		c.touched = append(c.touched, state)
	}
	kept := *change
	state.change, state.body = &kept, body
	c.head.Position, c.head.Time, c.head.Changed = change.Position, change.Time, change.Time
	return c.changes.add(len(body)+len(change.Identifier), c.t.set, change.Position, change.Time, change.Record,
		byte(change.Kind), change.Previous, []byte(change.Identifier), body)
}

func (c *commit) cut() error {
	return c.segments.addSegment(c.t.set, c.head.cut(), c.head.ContentKeys)
}

func (t *tx) segmentInserter() inserter {
	return t.inserter("segments", "set_id", "number", "first_position", "last_position", "from_time", "until_time", "last_key")
}

func (i *inserter) addSegment(set model.SetID, seg model.Segment, last model.ContentKey) error {
	return i.add(0, set, seg.Number, seg.First, seg.Last, seg.From, seg.Until, last)
}

// flush writes what is still collected, the records among it in the order of
// their keys.
func (c *commit) flush() error {
	columns := []string{"set_id", "number", "id_hash", "position", "time", "kind", "previous", "identifier", "body"}
	fresh := c.t.inserter("records", columns...)
	known := c.t.inserter("records", columns...)
	known.suffix = c.t.s.dialect.upsert("set_id, number", "position", "time", "kind", "previous", "body")
	slices.SortFunc(c.touched, func(a, b *recordState) int { return cmp.Compare(a.change.Record, b.change.Record) })
	for _, state := range c.touched {
		into := &fresh
		if state.known {
			into = &known
		}
		r := state.change
		err := into.add(len(state.body)+len(r.Identifier), c.t.set, r.Record, state.id[:], r.Position, r.Time, byte(r.Kind), r.Previous,
			[]byte(r.Identifier), state.body)
		if err != nil {
			return err
		}
	}
	for _, i := range []*inserter{&c.changes, &c.bytes, &c.objects, &known, &fresh, &c.segments} {
		if err := i.flush(); err != nil {
			return err
		}
	}
	return c.t.place(c.placed)
}

// Seal cuts the tail, as its age demands. It tells whether there was one.
func (s *Store) Seal(ctx context.Context, set model.SetID) (bool, error) {
	var sealed bool
	err := s.write(ctx, "seal", set, func(t *tx) error {
		sealed = t.head.Tail.Changes > 0
		if !sealed {
			return errNothing
		}
		segments := t.segmentInserter()
		if err := segments.addSegment(set, t.head.cut(), t.head.ContentKeys); err != nil {
			return err
		}
		return segments.flush()
	})
	return sealed && err == nil, err
}
