package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

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

// lockStore makes the transactions that create sets, or move them to another base
// URL, come one after another. It locks the row of the id, which every database
// has. The head's lock, if any, is taken before.
func (t *tx) lockStore() error {
	var id string
	err := t.sql.QueryRowContext(t.ctx, "SELECT value FROM meta WHERE name = 'id'"+t.s.dialect.forUpdate()).Scan(&id)
	if err != nil {
		return fmt.Errorf("lock the store: %w", err)
	}
	return nil
}

// DatabaseID is random and as old as the database. An object store carries it
// too, so that neither is ever used with a stranger.
func (s *Store) DatabaseID(ctx context.Context) (string, error) {
	return meta(s.reader.WithContext(ctx), "id")
}

// ObjectStore is the id of the object store that the database's objects are in,
// or "" when none was claimed yet.
func (s *Store) ObjectStore(ctx context.Context) (string, error) {
	return meta(s.reader.WithContext(ctx), "object_store")
}

// ClaimObjectStore makes the object store called id that of the database, unless
// another one is: then the error is [model.ErrExists].
func (s *Store) ClaimObjectStore(ctx context.Context, id string) error {
	return s.write(ctx, "claim the object store", 0, func(t *tx) error {
		row := metaRow{Name: "object_store", Value: id}
		if err := t.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return err
		}
		claimed, err := meta(t.db, "object_store")
		if err == nil && claimed != id {
			err = model.ErrExists
		}
		return err
	})
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
// at. Existing ones keep theirs until [Store.OpenEpoch]. The path of the one
// that gives way is remembered, see [Store.BasePaths].
func (s *Store) SetBaseURL(ctx context.Context, base string, explicit bool) error {
	if base == "" || len(base) > model.MaxBaseURL {
		return &model.FieldError{Field: "base_url", Reason: fmt.Sprintf("want a URL of at most %d bytes", model.MaxBaseURL)}
	}
	origin := "derived"
	if explicit {
		origin = "explicit"
	}
	return s.write(ctx, "set base URL", 0, func(t *tx) error {
		if err := t.lockStore(); err != nil { // sets that are being created at the old one are there afterwards
			return err
		}
		was, err := meta(t.db, "base_url")
		if err != nil {
			return err
		}
		if err := rememberPath(t.db, was, base); err != nil {
			return err
		}
		if err := setMeta(t.db, "base_url", base); err != nil {
			return err
		}
		return setMeta(t.db, "base_url_origin", origin)
	})
}

// maxFormerPaths bounds what is remembered of former base URLs: 1,000 bytes.
const maxFormerPaths = 1000

// rememberPath keeps the path of the base URL that now gives way, newest first.
func rememberPath(db *gorm.DB, was, now string) error {
	former, err := formerPaths(db)
	if err != nil {
		return err
	}
	gone, stays := pathOf(was), pathOf(now)
	former = slices.DeleteFunc(former, func(p string) bool { return p == gone || p == stays })
	if gone != "" && gone != stays {
		former = slices.Insert(former, 0, gone)
	}
	value := strings.Join(former, "\n")
	for len(value) > maxFormerPaths {
		value = value[:strings.LastIndexByte(value, '\n')]
	}
	return setMeta(db, "former_base_paths", value)
}

func formerPaths(db *gorm.DB) ([]string, error) {
	value, err := meta(db, "former_base_paths")
	if value == "" {
		return nil, err
	}
	return strings.Split(value, "\n"), err
}

func pathOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}

// BasePaths returns the path of the base URL, "" or "/repo", and then those of
// former base URLs, newest first, under which requests still come.
func (s *Store) BasePaths(ctx context.Context) ([]string, error) {
	db := s.reader.WithContext(ctx)
	base, err := meta(db, "base_url")
	if err != nil {
		return nil, err
	}
	former, err := formerPaths(db)
	return append([]string{pathOf(base)}, former...), err
}
