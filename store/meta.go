package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"gateway/model"
)

// metaRow is a value of the database as a whole.
type metaRow struct {
	Name  string `gorm:"primaryKey"`
	Value string
}

func (metaRow) TableName() string { return "meta" }

// meta returns the value called name, or "".
func meta(db *gorm.DB, name string) (string, error) {
	var row metaRow
	err := db.Take(&row, "name = ?", name).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read meta %s: %w", name, err)
	}
	return row.Value, nil
}

func metaNumber(db *gorm.DB, name string) (int, error) {
	value, err := meta(db, name)
	if err != nil || value == "" {
		return 0, err
	}
	return strconv.Atoi(value)
}

func setMeta(db *gorm.DB, name, value string) error {
	row := metaRow{Name: name, Value: value}
	if err := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("write meta %s: %w", name, err)
	}
	return nil
}

// mintID gives a new database its id.
func mintID(db *gorm.DB) error {
	row := metaRow{Name: "id", Value: uuid.NewString()}
	return db.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error
}

// DatabaseID is random and as old as the database. An object store carries it
// too, so that neither is ever used with a stranger.
func (s *Store) DatabaseID(ctx context.Context) (string, error) {
	return meta(s.reader.WithContext(ctx), "id")
}

// BaseURL is the base URL of the store, without trailing slash, or "" when it
// has none yet.
func (s *Store) BaseURL(ctx context.Context) (string, error) {
	return meta(s.reader.WithContext(ctx), "base_url")
}

// BaseURLOrigin is BaseURL, and whether somebody chose it: a derived one may be
// replaced without asking, because nobody relied on it.
func (s *Store) BaseURLOrigin(ctx context.Context) (url string, explicit bool, err error) {
	db := s.reader.WithContext(ctx)
	if url, err = meta(db, "base_url"); err != nil {
		return "", false, err
	}
	origin, err := meta(db, "base_url_origin")
	return url, origin == "explicit", err
}

// SetBaseURL stores the base URL that sets created from now on are published
// at. Existing ones keep theirs until [Store.OpenEpoch].
func (s *Store) SetBaseURL(ctx context.Context, url string, explicit bool) error {
	if url == "" || len(url) > model.MaxBaseURL {
		return &model.FieldError{Field: "base_url", Reason: fmt.Sprintf("want a URL of at most %d bytes", model.MaxBaseURL)}
	}
	origin := "derived"
	if explicit {
		origin = "explicit"
	}
	return s.write(ctx, "set base URL", 0, func(t *tx) error {
		if err := setMeta(t.db, "base_url", url); err != nil {
			return err
		}
		return setMeta(t.db, "base_url_origin", origin)
	})
}
