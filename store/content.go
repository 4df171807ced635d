package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"gorm.io/gorm/clause"

	"gateway/model"
)

// OpenContent opens the content with the key in its kept form. Content is in
// the database or in an object, and may be moved from the one to the other, or
// to another object, while it is served: its bytes in the database count as long
// as they are there, and where it lies is read again when an object is gone.
// Content of a pack is verified before it is returned.
func (s *Store) OpenContent(ctx context.Context, set model.SetID, key model.ContentKey) (model.Kept, error) {
	kept, err := s.openContent(ctx, set, key)
	if errors.Is(err, model.ErrNotFound) {
		kept, err = s.openContent(ctx, set, key)
	}
	if err != nil {
		return nil, fmt.Errorf("content %d: %w", key, err)
	}
	return kept, nil
}

func (s *Store) openContent(ctx context.Context, set model.SetID, key model.ContentKey) (model.Kept, error) {
	kept, err := s.openBytes(ctx, set, key)
	if errors.Is(err, model.ErrNotFound) {
		kept, err = s.openPlaced(ctx, set, key)
	}
	return kept, err
}

// openBytes opens content that lies in the database.
func (s *Store) openBytes(ctx context.Context, set model.SetID, key model.ContentKey) (model.Kept, error) {
	var b []byte
	err := s.reader.Statement.ConnPool.QueryRowContext(ctx,
		"SELECT bytes FROM content_bytes WHERE set_id = ? AND content_key = ?", set, key).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, model.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return keptBytes{bytes.NewReader(b)}, nil
}

// openPlaced opens content that has a place in an object.
func (s *Store) openPlaced(ctx context.Context, set model.SetID, key model.ContentKey) (model.Kept, error) {
	pool := s.reader.Statement.ConnPool
	places, err := readPlaces(ctx, pool, set, []model.ContentKey{key})
	if err != nil {
		return nil, err
	}
	var object string
	err = pool.QueryRowContext(ctx, "SELECT object FROM objects WHERE set_id = ? AND number = ?", set, places[0].object).Scan(&object)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, model.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return s.openPart(ctx, object, &places[0])
}

// openPart opens content that lies in an object.
func (s *Store) openPart(ctx context.Context, object string, p *place) (model.Kept, error) {
	kept, err := s.OpenObject(ctx, object)
	if err != nil {
		return nil, err
	}
	if p.summed && p.stored <= verifyMost {
		ok, err := verifyPart(kept, p)
		if err == nil && !ok {
			err = errDamaged
		}
		if err != nil {
			kept.Close()
			return nil, fmt.Errorf("object %s: %w", object, err)
		}
	}
	if p.start == 0 && p.stored == kept.Size() {
		return kept, nil
	}
	return keptPart{io.NewSectionReader(kept, p.start, p.stored), kept}, nil
}

// OpenObject opens an object of the object store.
func (s *Store) OpenObject(ctx context.Context, key string) (model.Kept, error) {
	if s.config.Objects == nil {
		return nil, fmt.Errorf("object %s: no object store: %w", key, model.ErrNotFound)
	}
	return s.config.Objects.Open(ctx, key)
}

// keptBytes is content from the database.
type keptBytes struct{ *bytes.Reader }

func (keptBytes) Close() error { return nil }

// keptPart is content that is a part of an object.
type keptPart struct {
	*io.SectionReader
	object io.Closer
}

func (p keptPart) Close() error { return p.object.Close() }

// intentRow keeps an object that nothing refers to yet.
type intentRow struct {
	SetID     model.SetID `gorm:"primaryKey;autoIncrement:false"`
	Object    string      `gorm:"primaryKey"`
	UntilTime model.Time
}

func (intentRow) TableName() string { return "intents" }

// intentGrace is how much longer than promised an intent keeps its object, so
// that a commit that saw it in force ends before.
const intentGrace = model.Time(5 * time.Minute / time.Microsecond)

// ReserveObject keeps the object for d on the database's clock, until a commit
// or a publication refers to it. It is called before the object is created.
func (s *Store) ReserveObject(ctx context.Context, set model.SetID, key string, d time.Duration) error {
	return s.write(ctx, "reserve "+key, 0, func(t *tx) error {
		row := intentRow{SetID: set, Object: key, UntilTime: t.now() + model.Time(d/time.Microsecond)}
		return t.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error
	})
}

// reserved tells whether the object cannot be collected before this transaction
// ends: it is reserved, or content of the set lies in it already.
func (t *tx) reserved(object string) (bool, error) {
	var n int64
	err := t.db.Model(&intentRow{}).Where("set_id = ? AND object = ? AND until_time > ?", t.set, object, t.now()).Count(&n).Error
	if err == nil && n == 0 {
		err = t.db.Table("objects").Where("set_id = ? AND object = ?", t.set, object).Count(&n).Error
	}
	if err != nil {
		return false, fmt.Errorf("read the reservation of %s: %w", object, err)
	}
	return n > 0, nil
}

// Unreferenced returns those of the keys that no document, no content and no
// live intent names.
func (s *Store) Unreferenced(ctx context.Context, keys []string) ([]string, error) {
	db := s.reader.WithContext(ctx)
	skew, err := s.skew(db)
	if err != nil {
		return nil, err
	}
	now := model.TimeOf(s.now()) + skew
	named := map[string]bool{}
	const some = 200
	for first := 0; first < len(keys); first += some {
		page := keys[first:min(first+some, len(keys))]
		for _, query := range []struct {
			table, where string
			args         []any
		}{
			// In this order: a commit turns an intent into one of the others.
			{"intents", "object IN ? AND until_time > ?", []any{page, now - intentGrace}},
			{"objects", "object IN ?", []any{page}},
			{"documents", "object IN ?", []any{page}},
		} {
			var found []string
			if err := db.Table(query.table).Where(query.where, query.args...).Distinct().Pluck("object", &found).Error; err != nil {
				return nil, fmt.Errorf("read %s: %w", query.table, err)
			}
			for _, key := range found {
				named[key] = true
			}
		}
	}
	var free []string
	for _, key := range keys {
		if !named[key] {
			free = append(free, key)
		}
	}
	return free, nil
}
