package store

import (
	"context"
	"database/sql"
	"fmt"

	"gorm.io/gorm"

	"gateway/model"
)

// positionRow is how far a renderer has published, as it is stored.
type positionRow struct {
	SetID    model.SetID       `gorm:"primaryKey;autoIncrement:false"`
	Epoch    model.EpochNumber `gorm:"primaryKey;autoIncrement:false"`
	Renderer string            `gorm:"primaryKey"`
	Segment  model.SegmentNumber
}

func (positionRow) TableName() string { return "positions" }

// snapshotRow is a snapshot as it is stored. Snapshot 0 has no row.
type snapshotRow struct {
	SetID      model.SetID          `gorm:"primaryKey;autoIncrement:false"`
	Epoch      model.EpochNumber    `gorm:"primaryKey;autoIncrement:false"`
	Number     model.SnapshotNumber `gorm:"primaryKey;autoIncrement:false"`
	Position   model.Position
	At         model.Time
	Parts      int
	Resources  int64
	Published  bool
	Superseded model.Time
	LastRecord model.RecordNumber // up to which the parts so far go
}

func (snapshotRow) TableName() string { return "snapshots" }

func (r *snapshotRow) snapshot() model.Snapshot {
	return model.Snapshot{Number: r.Number, Epoch: r.Epoch, Position: r.Position, At: r.At,
		Parts: r.Parts, Resources: r.Resources, Superseded: r.Superseded}
}

// positions returns how far each renderer has come in an epoch, and packing,
// which has no epoch; the renderers that were asked for are all there.
func (s *Store) positions(db *gorm.DB, set model.SetID, epoch model.EpochNumber) (map[string]model.SegmentNumber, error) {
	var rows []positionRow
	if err := db.Find(&rows, "set_id = ? AND epoch IN (0, ?)", set, epoch).Error; err != nil {
		return nil, fmt.Errorf("read published positions: %w", err)
	}
	positions := make(map[string]model.SegmentNumber, len(rows))
	for _, name := range s.config.Renderers {
		positions[name] = 0
	}
	for _, row := range rows {
		positions[row.Renderer] = row.Segment
	}
	return positions, nil
}

// slowest is the segment that every renderer of this program has published; with
// none it is the last.
func (s *Store) slowest(positions map[string]model.SegmentNumber, last model.SegmentNumber) model.SegmentNumber {
	for _, name := range s.config.Renderers {
		last = min(last, positions[name])
	}
	return last
}

func (t *tx) slowest() (model.SegmentNumber, error) {
	if t.head.Segments == 0 || len(t.s.config.Renderers) == 0 {
		return t.head.Segments, nil
	}
	if err := t.readPositions(); err != nil {
		return 0, err
	}
	return t.s.slowest(t.published, t.head.Segments), nil
}

func (t *tx) readPositions() (err error) {
	if t.published == nil {
		t.published, err = t.s.positions(t.db, t.set, t.head.Epoch)
	}
	return err
}

// Due returns up to limit sets that publishing must look at now, those first
// that have been due longest.
func (s *Store) Due(ctx context.Context, limit int) ([]model.SetID, error) {
	clock, args := s.clock()
	query := "SELECT set_id FROM heads WHERE due <= " + clock + " ORDER BY due, set_id LIMIT ?"
	rows, err := s.reader.Statement.ConnPool.QueryContext(ctx, query, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read due sets: %w", err)
	}
	defer rows.Close()
	var due []model.SetID
	for rows.Next() {
		var set model.SetID
		if err := rows.Scan(&set); err != nil {
			return nil, fmt.Errorf("read due sets: %w", err)
		}
		due = append(due, set)
	}
	return due, rows.Err()
}

// clock is an expression for the database's clock, and its parameters.
func (s *Store) clock() (string, []any) {
	if clock := s.dialect.clock(); clock != "" {
		return clock, nil
	}
	return "?", []any{model.TimeOf(s.now())}
}

// Backlog reads, in one instant, what publishing the set still has to do.
func (s *Store) Backlog(ctx context.Context, set model.SetID) (model.Backlog, error) {
	var b model.Backlog
	options := &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
	if s.dialect.clock() == "" {
		options.Isolation = sql.LevelDefault // SQLite's transactions see one instant always
	}
	err := s.reader.WithContext(ctx).Transaction(func(db *gorm.DB) (err error) {
		b, err = s.readBacklog(ctx, db, set)
		return err
	}, options)
	if err != nil {
		return model.Backlog{}, fmt.Errorf("backlog of set %d: %w", set, err)
	}
	return b, nil
}

func (s *Store) readBacklog(ctx context.Context, db *gorm.DB, set model.SetID) (b model.Backlog, err error) {
	found, err := readViews(ctx, db, "", " WHERE s.id = ?", set)
	if err != nil {
		return b, err
	}
	if len(found) == 0 {
		return b, model.ErrNotFound
	}
	h := &found[0].head
	b.View, b.Tail, b.Spent, b.Sparse = found[0].view, h.TailTime, h.Spent, h.Sparse
	v := &b.View
	if b.Positions, err = s.positions(db, set, v.Epoch.Number); err != nil {
		return b, err
	}
	b.Packed = b.Positions[model.Packer]
	delete(b.Positions, model.Packer)
	if b.Holder, err = s.holder(db, set); err != nil {
		return b, err
	}
	slowest := s.slowest(b.Positions, v.Head.Segments)
	var segments []storedSegment
	err = db.Order("number").Find(&segments, "set_id = ? AND number IN (?, ?)", set, slowest, slowest+1).Error
	if err != nil {
		return b, err
	}
	v.Published, v.Next = model.Segment{}, nil
	for i := range segments {
		seg := segments[i].segment()
		if seg.Number == slowest {
			v.Published = seg
		} else {
			v.Next = &seg
		}
	}
	clock, args := s.clock()
	err = db.Model(&leaseRow{}).Where("set_id = ? AND kind = ?", set, leasePublish).Where("until_time > "+clock, args...).
		Select("holder").Scan(&b.Holder).Error
	if err != nil {
		return b, err
	}
	var snapshots []snapshotRow
	err = db.Order("number").Find(&snapshots, "set_id = ? AND epoch = ?", set, v.Epoch.Number).Error
	if err != nil {
		return b, err
	}
	for i := range snapshots {
		row := &snapshots[i]
		switch {
		case !row.Published:
			b.Rendering = &model.RenderingSnapshot{Snapshot: row.snapshot(), LastRecord: row.LastRecord}
		case row.Superseded != 0:
			b.Superseded = append(b.Superseded, row.snapshot())
		}
	}
	return b, nil
}
