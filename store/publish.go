package store

import (
	"context"
	"fmt"

	"gorm.io/gorm/clause"

	"gateway/model"
)

// Publish makes p visible in one transaction, or returns [model.ErrHeadMoved]
// and changes nothing when another publisher was faster, the epoch is over, or
// the lease is lost.
func (s *Store) Publish(ctx context.Context, p model.Publication) error {
	return s.write(ctx, "publish", p.Set, func(t *tx) error {
		if p.Epoch != t.head.Epoch {
			return fmt.Errorf("epoch %d is over: %w", p.Epoch, model.ErrHeadMoved)
		}
		if err := t.keep(p.Holder); err != nil {
			return err
		}
		for _, step := range []func(*model.Publication) error{
			t.advance, t.addDocuments, t.addPackages, t.packBeside, t.render, t.publishSnapshot, t.expire, t.getReady, t.forgetEpochs,
		} {
			if err := step(&p); err != nil {
				return err
			}
		}
		if p.Release && p.Holder != "" {
			return t.release(p.Holder)
		}
		return nil
	})
}

// advance moves the published positions.
func (t *tx) advance(p *model.Publication) error {
	if len(p.Advances) == 0 {
		return nil
	}
	if err := t.readPositions(); err != nil {
		return err
	}
	for _, a := range p.Advances {
		if at := t.published[a.Renderer]; at != a.From {
			return fmt.Errorf("%s stands at segment %d, not %d: %w", a.Renderer, at, a.From, model.ErrHeadMoved)
		}
		if a.To < a.From || a.To > t.head.Segments {
			return fmt.Errorf("%s cannot advance from segment %d to %d of %d", a.Renderer, a.From, a.To, t.head.Segments)
		}
		row := positionRow{SetID: t.set, Epoch: t.head.Epoch, Renderer: a.Renderer, Segment: a.To}
		if err := t.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
			return fmt.Errorf("advance %s: %w", a.Renderer, err)
		}
		t.published[a.Renderer] = a.To
	}
	return nil
}

// render records how far a snapshot of several parts has come.
func (t *tx) render(p *model.Publication) error {
	r := p.Rendering
	if r == nil {
		return nil
	}
	was, err := t.rendering(r.Snapshot)
	if err != nil {
		return err
	}
	if was != nil && r.Parts <= was.Parts {
		return fmt.Errorf("snapshot %d has %d parts already: %w", r.Number, was.Parts, model.ErrHeadMoved)
	}
	t.head.Rendering = r.Number
	return t.saveSnapshot(&r.Snapshot, false, r.LastRecord)
}

// publishSnapshot makes a snapshot the newest, and its predecessor superseded.
func (t *tx) publishSnapshot(p *model.Publication) error {
	n := p.Snapshot
	if n == nil {
		return nil
	}
	if _, err := t.rendering(*n); err != nil {
		return err
	}
	h := t.head
	if h.Snapshot != 0 {
		now := t.now()
		err := t.db.Model(&snapshotRow{}).Where("set_id = ? AND epoch = ? AND number = ?", t.set, h.Epoch, h.Snapshot).
			Update("superseded", now).Error
		if err != nil {
			return fmt.Errorf("supersede snapshot %d: %w", h.Snapshot, err)
		}
		if h.Superseded == 0 {
			h.Superseded = now
		}
	}
	h.Snapshot, h.SnapshotPosition, h.SnapshotAt, h.Rendering = n.Number, n.Position, n.At, 0
	return t.saveSnapshot(n, true, 0)
}

// rendering checks that snapshot n can go on or be published, and returns what
// was recorded of it.
func (t *tx) rendering(n model.Snapshot) (*snapshotRow, error) {
	h := t.head
	if n.Number <= h.Snapshot || n.Epoch != h.Epoch {
		return nil, fmt.Errorf("snapshot %d of epoch %d is not newer than snapshot %d of epoch %d: %w", n.Number, n.Epoch, h.Snapshot, h.Epoch, model.ErrHeadMoved)
	}
	if h.Rendering == 0 {
		return nil, nil
	}
	var was snapshotRow
	if err := t.db.Take(&was, "set_id = ? AND epoch = ? AND number = ?", t.set, h.Epoch, h.Rendering).Error; err != nil {
		return nil, fmt.Errorf("read snapshot %d: %w", h.Rendering, err)
	}
	if was.Number != n.Number || was.Position != n.Position {
		return nil, fmt.Errorf("snapshot %d at position %d is being made: %w", was.Number, was.Position, model.ErrHeadMoved)
	}
	return &was, nil
}

func (t *tx) saveSnapshot(n *model.Snapshot, published bool, last model.RecordNumber) error {
	row := snapshotRow{SetID: t.set, Epoch: n.Epoch, Number: n.Number, Position: n.Position, At: n.At,
		Parts: n.Parts, Resources: n.Resources, Published: published, LastRecord: last}
	if err := t.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("write snapshot %d: %w", n.Number, err)
	}
	return nil
}

// expire removes superseded snapshots and their documents.
func (t *tx) expire(p *model.Publication) error {
	if len(p.Expire) == 0 {
		return nil
	}
	h := t.head
	where := "set_id = ? AND epoch = ? AND number IN ? AND superseded > 0"
	var gone []model.SnapshotNumber
	if err := t.db.Model(&snapshotRow{}).Where(where, t.set, h.Epoch, p.Expire).Pluck("number", &gone).Error; err != nil {
		return fmt.Errorf("read superseded snapshots: %w", err)
	}
	if len(gone) == 0 {
		return nil
	}
	for _, query := range []string{
		"DELETE FROM documents WHERE set_id = ? AND epoch = ? AND snapshot IN ?",
		"DELETE FROM packages WHERE set_id = ? AND epoch = ? AND snapshot IN ?",
		"DELETE FROM snapshots WHERE set_id = ? AND epoch = ? AND number IN ?",
	} {
		if err := t.db.Exec(query, t.set, h.Epoch, gone).Error; err != nil {
			return fmt.Errorf("remove snapshots: %w", err)
		}
	}
	err := t.db.Model(&snapshotRow{}).Where("set_id = ? AND epoch = ? AND superseded > 0", t.set, h.Epoch).
		Select("COALESCE(MIN(superseded), 0)").Scan(&h.Superseded).Error
	if err != nil {
		return fmt.Errorf("read superseded snapshots: %w", err)
	}
	return nil
}

// getReady makes the moving documents of the epoch available.
func (t *tx) getReady(p *model.Publication) error {
	if !p.Ready || t.info.ready {
		return nil
	}
	t.info.ready = true
	err := t.db.Model(&epochRow{}).Where("set_id = ? AND number = ?", t.set, t.head.Epoch).Update("ready", true).Error
	if err != nil {
		return fmt.Errorf("make epoch %d ready: %w", t.head.Epoch, err)
	}
	return nil
}

// forgetEpochs removes some of what former epochs published, whose URLs answer
// 410 by their number alone.
func (t *tx) forgetEpochs(*model.Publication) error {
	if t.head.Epoch == 1 {
		return nil
	}
	const some = 500
	for _, table := range []string{"documents", "packages"} {
		var paths []string
		err := t.db.Table(table).Where("set_id = ? AND epoch < ?", t.set, t.head.Epoch).Limit(some).Pluck("path", &paths).Error
		if err != nil {
			return fmt.Errorf("read %s of former epochs: %w", table, err)
		}
		if len(paths) > 0 {
			if err := t.db.Exec("DELETE FROM "+table+" WHERE set_id = ? AND path IN ?", t.set, paths).Error; err != nil {
				return fmt.Errorf("remove %s of former epochs: %w", table, err)
			}
			return nil
		}
	}
	for _, table := range []string{"snapshots", "positions"} {
		if err := t.db.Exec("DELETE FROM "+table+" WHERE set_id = ? AND epoch > 0 AND epoch < ?", t.set, t.head.Epoch).Error; err != nil {
			return fmt.Errorf("remove %s of former epochs: %w", table, err)
		}
	}
	return nil
}
