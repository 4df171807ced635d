package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"gateway/model"
)

// Open opens the database, making it and its tables as needed. Of several
// processes that open a new database at once each may make any part of it.
func Open(ctx context.Context, c Config) (*Store, error) {
	s := &Store{config: c, limits: c.Limits.WithDefaults(), now: c.Now, log: c.Log}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	err := retrying(ctx, s.dialect, func() error {
		if err := s.migrate(ctx); err != nil {
			return err
		}
		if err := mintID(s.writer.WithContext(ctx)); err != nil {
			return err
		}
		return s.welcome(ctx)
	})
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("prepare the database: %w", err)
	}
	return s, nil
}

func (s *Store) connect(ctx context.Context) (err error) {
	if s.config.Database == "" {
		dir, err := filepath.Abs(s.config.Dir)
		if err != nil {
			return err
		}
		s.dialect = sqliteDialect{filepath.Join(dir, "gateway.db")}
	} else if s.dialect, err = parseMySQL(s.config.Database); err != nil {
		return err
	}
	s.writer, s.reader, err = s.dialect.open(ctx, &gorm.Config{
		SkipDefaultTransaction: true,
		Logger:                 logger.Discard, // errors are returned; a log of statements would hold content
	})
	return err
}

// welcome makes every set due when the program has renderers that the database
// has not seen yet: sets that nobody writes to would never publish for them.
func (s *Store) welcome(ctx context.Context) error {
	db := s.writer.WithContext(ctx)
	seen, err := meta(db, "renderers")
	if err != nil {
		return err
	}
	names := strings.Fields(seen)
	for _, name := range s.config.Renderers {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == len(strings.Fields(seen)) {
		return nil
	}
	var last model.SetID
	if err := db.Model(&setRow{}).Select("COALESCE(MAX(id), 0)").Scan(&last).Error; err != nil {
		return err
	}
	const some = 500
	for after := model.SetID(0); after < last; after += some {
		err := db.Exec("UPDATE heads SET due = 1 WHERE set_id > ? AND set_id <= ? AND segments > 0", after, after+some).Error
		if err != nil {
			return fmt.Errorf("make sets due: %w", err)
		}
	}
	return setMeta(db, "renderers", strings.Join(names, " "))
}

// Close closes the database. Calls that are under way fail.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*gorm.DB{s.writer, s.reader} {
		if pool, err := db.DB(); err == nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}

// Ready tells whether the database answers, may be written, and agrees with this
// process about the time.
func (s *Store) Ready(ctx context.Context) error {
	db := s.reader.WithContext(ctx)
	if err := s.mayWrite(db); err != nil {
		return err
	}
	_, err := s.skew(db)
	return err
}

// maxSkew is how far the clocks of process and database may differ.
const maxSkew = model.Time(5 * time.Second / time.Microsecond)

// skew is by how much the database's clock is ahead of this process's. Beyond
// maxSkew it is an error: leases and the times of the log would not hold.
func (s *Store) skew(db *gorm.DB) (model.Time, error) {
	clock := s.dialect.clock()
	if clock == "" {
		return 0, nil
	}
	var theirs model.Time
	before := model.TimeOf(s.now())
	if err := db.Statement.ConnPool.QueryRowContext(db.Statement.Context, "SELECT "+clock).Scan(&theirs); err != nil {
		return 0, fmt.Errorf("read the database's clock: %w", err)
	}
	ours := before + (model.TimeOf(s.now())-before)/2
	if d := theirs - ours; d > maxSkew || d < -maxSkew {
		return 0, fmt.Errorf("the clock of this machine is %v off the database's; at most 5 s are allowed",
			time.Duration(-d)*time.Microsecond)
	}
	return theirs - ours, nil
}
