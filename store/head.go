package store

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"gateway/model"
)

// head is the row that every writer of a set locks first and writes last.
type head struct {
	model.Head
	// Boundary is the time of the last cut, or the set's creation.
	Boundary model.Time
	// TailTime is the time of the first change after the last cut, 0 when there
	// is none. TailSize is the segment size that was asked for when the tail
	// began: a policy's new size applies from the next segment on.
	TailTime model.Time
	Tail     model.Cutter
	TailSize int
	// The last numbers that were given out.
	Numbers     model.RecordNumber
	ContentKeys model.ContentKey
	Objects     int64
	// What publishing last did, repeated here so that a commit knows when the
	// set is due.
	Epoch            model.EpochNumber
	Snapshot         model.SnapshotNumber // newest published one of the epoch
	SnapshotPosition model.Position
	SnapshotAt       model.Time
	Rendering        model.SnapshotNumber // being made; 0 is none
	Superseded       model.Time           // the oldest among those kept; 0 is none
	Spent            model.Time           // when database bytes of packed content may go; 0 is never
	Sparse           bool                 // objects are more than half without content
	Revision         int64
	Due              sql.NullInt64 // when publishing must look at the set; NULL is never
}

// headColumns are the columns of a head in the order of fields.
func headColumns() []string {
	return []string{"position", "time", "changed", "boundary",
		"tail_time", "tail_changes", "tail_entries", "tail_bytes", "tail_size",
		"segments", "numbers", "content_keys", "objects",
		"records", "entries", "bytes", "created", "updated", "deleted",
		"epoch", "snapshot", "snapshot_position", "snapshot_at", "rendering", "superseded", "spent", "sparse",
		"revision", "due"}
}

func (h *head) fields() []any {
	return []any{&h.Position, &h.Time, &h.Changed, &h.Boundary,
		&h.TailTime, &h.Tail.Changes, &h.Tail.Load.Entries, &h.Tail.Load.Bytes, &h.TailSize,
		&h.Segments, &h.Numbers, &h.ContentKeys, &h.Objects,
		&h.Records, &h.Resources.Entries, &h.Resources.Bytes, &h.Changes[model.Created], &h.Changes[model.Updated], &h.Changes[model.Deleted],
		&h.Epoch, &h.Snapshot, &h.SnapshotPosition, &h.SnapshotAt, &h.Rendering, &h.Superseded, &h.Spent, &h.Sparse,
		&h.Revision, &h.Due}
}

// values are the fields as parameters of a statement.
func (h *head) values() []any {
	return []any{h.Position, h.Time, h.Changed, h.Boundary,
		h.TailTime, h.Tail.Changes, h.Tail.Load.Entries, h.Tail.Load.Bytes, h.TailSize,
		h.Segments, h.Numbers, h.ContentKeys, h.Objects,
		h.Records, h.Resources.Entries, h.Resources.Bytes, h.Changes[model.Created], h.Changes[model.Updated], h.Changes[model.Deleted],
		h.Epoch, h.Snapshot, h.SnapshotPosition, h.SnapshotAt, h.Rendering, h.Superseded, h.Spent, h.Sparse,
		h.Revision, h.Due}
}

// setInfo is what a writing transaction knows of the set besides its head.
type setInfo struct {
	name    string
	created model.Time
	policy  model.Policy
	ready   bool // the current epoch is
}

// lockHead takes the lock that the writers of t.set share, and reads the head.
func (t *tx) lockHead() error {
	var h head
	query := "SELECT " + strings.Join(headColumns(), ", ") + " FROM heads WHERE set_id = ?" + t.s.dialect.forUpdate()
	err := t.sql.QueryRowContext(t.ctx, query, t.set).Scan(h.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("set %d: %w", t.set, model.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("lock the head: %w", err)
	}
	var policy string
	err = t.sql.QueryRowContext(t.ctx, "SELECT s.name, s.created, s.policy, e.ready FROM sets s"+
		" JOIN epochs e ON e.set_id = s.id AND e.number = ? WHERE s.id = ?", h.Epoch, t.set).
		Scan(&t.info.name, &t.info.created, &policy, &t.info.ready)
	if err != nil {
		return fmt.Errorf("read the set: %w", err)
	}
	if t.info.policy, err = model.ParsePolicy(policy); err != nil {
		return fmt.Errorf("read the set's policy: %w", err)
	}
	t.head = &h
	return nil
}

// saveHead writes the head with its next revision and due time.
func (t *tx) saveHead() error {
	h := t.head
	slowest, err := t.slowest()
	if err != nil {
		return err
	}
	packed := h.Segments
	if packed > 0 {
		if packed, err = t.packed(); err != nil {
			return err
		}
	}
	due := h.due(&t.info, slowest, packed)
	h.Due = sql.NullInt64{Int64: int64(due), Valid: due != 0}
	if !t.unseen {
		h.Revision++
	}
	query := "UPDATE heads SET " + strings.Join(headColumns(), " = ?, ") + " = ? WHERE set_id = ?"
	if _, err := t.sql.ExecContext(t.ctx, query, append(h.values(), t.set)...); err != nil {
		return fmt.Errorf("write the head: %w", err)
	}
	return nil
}

// due is when publishing must look at the set, whose slowest renderer has
// published the segments up to the given one, and the content of which was
// packed up to another.
func (h *head) due(info *setInfo, slowest, packed model.SegmentNumber) model.Time {
	b := model.Backlog{Tail: h.TailTime, Packed: packed, Spent: h.Spent, Sparse: h.Sparse, View: model.View{
		Set:      model.Set{Policy: info.policy},
		Head:     h.Head,
		Snapshot: model.Snapshot{Number: h.Snapshot, Position: h.SnapshotPosition, At: h.SnapshotAt},
		Ready:    info.ready,
	}}
	if slowest < h.Segments {
		b.View.Next = &model.Segment{Number: slowest + 1}
	}
	if h.Rendering != 0 {
		b.Rendering = &model.RenderingSnapshot{}
	}
	if h.Superseded != 0 {
		b.Superseded = []model.Snapshot{{Superseded: h.Superseded}}
	}
	return b.Due()
}

// cut ends the tail in a segment. Its boundary lies one microsecond after the
// last change and becomes the log's time, so that no change is ever on it.
func (h *head) cut() model.Segment {
	h.Time++
	h.Segments++
	seg := model.Segment{
		Number: h.Segments,
		First:  h.Position - model.Position(h.Tail.Changes) + 1,
		Last:   h.Position,
		From:   h.Boundary,
		Until:  h.Time,
	}
	h.Boundary = seg.Until
	h.Tail, h.TailTime, h.TailSize = model.Cutter{}, 0, 0
	return seg
}
