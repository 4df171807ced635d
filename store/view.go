package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"gateway/model"
)

// viewQuery reads in one statement, and so in one instant, all that a view
// shows. Its first parameter is the renderer; a WHERE clause follows.
func viewQuery() string {
	return "SELECT s.id, s.name, s.private, s.metadata, s.policy, s.feed_id, s.complete_id, s.created, s.modified, " +
		"e.number, e.reason, e.base_url, e.first_position, e.from_time, e.began, e.ready, " +
		"p.number, p.first_position, p.last_position, p.from_time, p.until_time, " +
		"n.number, n.first_position, n.last_position, n.from_time, n.until_time, " +
		"c.number, c.position, c.at, c.parts, c.resources, " +
		"h." + strings.Join(headColumns(), ", h.") +
		" FROM sets s" +
		" JOIN heads h ON h.set_id = s.id" +
		" JOIN epochs e ON e.set_id = s.id AND e.number = h.epoch" +
		" LEFT JOIN positions q ON q.set_id = s.id AND q.epoch = h.epoch AND q.renderer = ?" +
		" LEFT JOIN segments p ON p.set_id = s.id AND p.number = q.segment" +
		" LEFT JOIN segments n ON n.set_id = s.id AND n.number = COALESCE(q.segment, 0) + 1" +
		" LEFT JOIN snapshots c ON c.set_id = s.id AND c.epoch = h.epoch AND c.number = h.snapshot"
}

// viewRow is a row of viewQuery on its way into a view.
type viewRow struct {
	view             model.View
	metadata, policy string
	published, next  segmentRow
	snapshot         struct{ number, position, at, parts, resources sql.NullInt64 }
	head             head
}

// segmentRow is a segment that may not be there.
type segmentRow struct{ number, first, last, from, until sql.NullInt64 }

func (r *segmentRow) fields() []any { return []any{&r.number, &r.first, &r.last, &r.from, &r.until} }

func (r *segmentRow) segment() model.Segment {
	return model.Segment{
		Number: model.SegmentNumber(r.number.Int64), First: model.Position(r.first.Int64), Last: model.Position(r.last.Int64),
		From: model.Time(r.from.Int64), Until: model.Time(r.until.Int64),
	}
}

func (r *viewRow) scan(rows *sql.Rows) error {
	*r = viewRow{}
	v := &r.view
	dest := []any{&v.Set.ID, &v.Set.Name, &v.Set.Private, &r.metadata, &r.policy, &v.Set.FeedID, &v.Set.CompleteID, &v.Set.Created, &v.Set.Modified,
		&v.Epoch.Number, &v.Epoch.Reason, &v.Epoch.BaseURL, &v.Epoch.First, &v.Epoch.From, &v.Epoch.Began, &v.Ready}
	dest = append(dest, r.published.fields()...)
	dest = append(dest, r.next.fields()...)
	c := &r.snapshot
	dest = append(dest, &c.number, &c.position, &c.at, &c.parts, &c.resources)
	dest = append(dest, r.head.fields()...)
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	if err := unmarshalMetadata(r.metadata, &v.Set); err != nil {
		return err
	}
	var err error
	if v.Set.Policy, err = model.ParsePolicy(r.policy); err != nil {
		return fmt.Errorf("policy of set %s: %w", v.Set.Name, err)
	}
	v.Head, v.Revision = r.head.Head, r.head.Revision
	v.Published = r.published.segment()
	if r.next.number.Valid {
		next := r.next.segment()
		v.Next = &next
	}
	v.Snapshot = model.Snapshot{Epoch: v.Epoch.Number, At: v.Set.Created} // snapshot 0
	if c.number.Valid {
		v.Snapshot.Number, v.Snapshot.Position = model.SnapshotNumber(c.number.Int64), model.Position(c.position.Int64)
		v.Snapshot.At, v.Snapshot.Parts, v.Snapshot.Resources = model.Time(c.at.Int64), int(c.parts.Int64), c.resources.Int64
	}
	return nil
}

// readViews reads the rows of viewQuery with the given end.
func readViews(ctx context.Context, db *gorm.DB, renderer, where string, args ...any) ([]viewRow, error) {
	rows, err := db.Statement.ConnPool.QueryContext(ctx, viewQuery()+where, append([]any{renderer}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("read sets: %w", err)
	}
	defer rows.Close()
	var found []viewRow
	for rows.Next() {
		var r viewRow
		if err := r.scan(rows); err != nil {
			return nil, fmt.Errorf("read sets: %w", err)
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// Views returns the public sets whose names come after the given one, by name,
// at most limit of them, as no renderer has published anything.
func (s *Store) Views(ctx context.Context, after string, limit int) ([]model.View, error) {
	found, err := readViews(ctx, s.reader, "", " WHERE s.name > ? AND s.private = 0 ORDER BY s.name LIMIT ?", after, limit)
	if err != nil {
		return nil, err
	}
	views := make([]model.View, len(found))
	for i := range found {
		views[i] = found[i].view
	}
	return views, nil
}

// Set returns the set of that name, or [model.ErrNotFound].
func (s *Store) Set(ctx context.Context, name string) (model.Set, error) {
	v, err := s.readView(ctx, name, "")
	return v.Set, err
}

func (s *Store) readView(ctx context.Context, set, renderer string) (model.View, error) {
	found, err := readViews(ctx, s.reader, renderer, " WHERE s.name = ?", set)
	if err != nil {
		return model.View{}, err
	}
	if len(found) == 0 {
		return model.View{}, fmt.Errorf("set %q: %w", set, model.ErrNotFound)
	}
	return found[0].view, nil
}

// metadata is what people say about a set, as the store keeps it.
type metadata struct {
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	DescribedBy string       `json:"describedby,omitempty"`
	Author      model.Author `json:"author"`
}

func marshalMetadata(set *model.Set) (string, error) {
	b, err := json.Marshal(metadata{set.Title, set.Description, set.DescribedBy, set.Author})
	return string(b), err
}

func unmarshalMetadata(text string, set *model.Set) error {
	var m metadata
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return fmt.Errorf("description of set %s: %w", set.Name, err)
	}
	set.Title, set.Description, set.DescribedBy, set.Author = m.Title, m.Description, m.DescribedBy, m.Author
	return nil
}
