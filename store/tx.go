package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	mathrand "math/rand/v2"

	"gorm.io/gorm"

	"gateway/model"
)

const (
	retryFor     = time.Minute // how long a transaction is repeated
	maxConflicts = 10          // … and how often after a conflict, which may be a mistake of ours
	tokenKept    = 24 * time.Hour
	tokenLength  = 16
)

// errNothing rolls a transaction back that has nothing to write; write returns
// nil for it.
var errNothing = errors.New("nothing to write")

// tx is a writing transaction.
type tx struct {
	s    *Store
	ctx  context.Context
	db   *gorm.DB
	sql  gorm.ConnPool // the same transaction without GORM
	skew model.Time    // of the database's clock

	// Of a transaction on a set; head is nil otherwise.
	set  model.SetID
	head *head
	info setInfo
	// published is how far the renderers and packing have come, once it was
	// read.
	published map[string]model.SegmentNumber
	// unseen: nothing changes that a document shows, and the revision stays.
	unseen bool
}

// now is the database's clock.
func (t *tx) now() model.Time { return model.TimeOf(t.s.now()) + t.skew }

// write runs f in a transaction, as often as it takes. With a set it holds the
// lock on the set's head, and writes the head after f. f must set its results
// anew each time it runs; it may return errNothing.
func (s *Store) write(ctx context.Context, op string, set model.SetID, f func(*tx) error) error {
	w := writing{s: s, op: op, set: set, f: f}
	if _, err := rand.Read(w.token[:]); err != nil {
		return err
	}
	err := retrying(ctx, s.dialect, func() error { return w.attempt(ctx) })
	if err != nil && !errors.Is(err, errNothing) {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// writing is one call of write over its attempts.
type writing struct {
	s     *Store
	op    string
	set   model.SetID
	f     func(*tx) error
	token [tokenLength]byte
	// unsure: COMMIT was sent and its reply did not arrive. The results of f are
	// those of that attempt.
	unsure bool
	name   string // of the set, known once its head was read
}

func (w *writing) attempt(ctx context.Context) error {
	if err := w.s.fault(FaultBegin); err != nil {
		return err
	}
	if err := w.s.rest(ctx); err != nil {
		return err
	}
	began := time.Now()
	db := w.s.writer.WithContext(ctx).Begin()
	if db.Error != nil {
		return db.Error
	}
	t := &tx{s: w.s, ctx: ctx, db: db, sql: db.Statement.ConnPool, set: w.set}
	defer func() { w.s.wrote(began) }()
	err := w.run(t)
	if err != nil {
		if e := db.Rollback().Error; e != nil && w.s.dialect.verdict(e) != lost {
			w.s.log.Debug("rollback", "operation", w.op, "error", e)
		}
		return err
	}
	return w.commit(ctx, db)
}

// run does everything between BEGIN and COMMIT.
func (w *writing) run(t *tx) (err error) {
	if err := w.s.mayWrite(t.db); err != nil {
		return err
	}
	if t.skew, err = w.s.skew(t.db); err != nil {
		return err
	}
	if w.set == 0 {
		if err := w.f(t); err != nil {
			return err
		}
		return w.s.fault(FaultWritten)
	}
	if err := t.lockHead(); err != nil {
		return err
	}
	w.name = t.info.name
	if err := w.s.fault(FaultLocked); err != nil {
		return err
	}
	if w.unsure {
		there, err := t.hasToken(w.token[:])
		if err != nil {
			return err
		}
		if there {
			return errNothing // more: f's results stand
		}
		w.unsure = false
	}
	if err := w.f(t); err != nil {
		return err
	}
	if err := w.s.fault(FaultWritten); err != nil {
		return err
	}
	if err := t.leaveToken(w.token[:]); err != nil {
		return err
	}
	return t.saveHead()
}

func (w *writing) commit(ctx context.Context, db *gorm.DB) error {
	s := w.s
	err := s.fault(FaultCommitBefore)
	if err != nil {
		db.Rollback()
	} else if err = db.Commit().Error; err == nil {
		err = s.fault(FaultCommitAfter)
	}
	s.views.drop(w.name)
	if err != nil {
		// A conflict that is reported here has rolled back; anything else may
		// have taken effect.
		w.unsure = s.dialect.verdict(err) != busy
		// SQLite leaves the transaction open then, and its connection would go
		// back to the pool like that.
		s.writer.WithContext(context.WithoutCancel(ctx)).Exec("ROLLBACK")
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// rest lets other processes have the database after a long transaction of this
// one. SQLite gives its lock to whoever asks first, not to who waited longest, so
// that a bulk import without pauses would keep it.
func (s *Store) rest(ctx context.Context) error {
	if until := s.restUntil.Load(); until != nil {
		if d := time.Until(*until); d > 0 {
			return sleep(ctx, d)
		}
	}
	return nil
}

// wrote notes the end of a transaction.
func (s *Store) wrote(began time.Time) {
	const part, least = 16, 100 * time.Microsecond
	now := time.Now()
	d := min(now.Sub(began)/part, s.dialect.pause())
	if d < least {
		return
	}
	until := now.Add(d)
	s.restUntil.Store(&until)
}

// hasToken tells whether a transaction with the token took effect. The head lock
// is held, so none with it is still under way.
func (t *tx) hasToken(token []byte) (bool, error) {
	var n int64
	err := t.db.Table("writes").Where("set_id = ? AND token = ?", t.set, token).Count(&n).Error
	return n > 0, err
}

// leaveToken writes the transaction's token with its outcome, the position of
// the head after it, and now and then removes tokens that are too old to matter.
func (t *tx) leaveToken(token []byte) error {
	now := t.now()
	_, err := t.sql.ExecContext(t.ctx, "INSERT INTO writes (set_id, token, at, outcome) VALUES (?, ?, ?, ?)",
		t.set, token, now, binary.AppendUvarint(nil, uint64(t.head.Position)))
	if err != nil {
		return fmt.Errorf("leave a token: %w", err)
	}
	const every, most = 64, 256 // more are removed than come
	if t.s.writes.Add(1)%every != 0 {
		return nil
	}
	var old [][]byte
	before := now - model.Time(tokenKept/time.Microsecond)
	err = t.db.Table("writes").Where("set_id = ? AND at < ?", t.set, before).Order("at").Limit(most).Pluck("token", &old).Error
	if err == nil && len(old) > 0 {
		err = t.db.Exec("DELETE FROM writes WHERE set_id = ? AND token IN ?", t.set, old).Error
	}
	return err
}

// retrying calls f until it succeeds, fails for good, or a minute has passed.
func retrying(ctx context.Context, d dialect, f func() error) error {
	return retryingFor(ctx, d, retryFor, f)
}

func retryingFor(ctx context.Context, d dialect, most time.Duration, f func() error) error {
	conflicts := 0
	deadline := time.Now().Add(most)
	for attempt := 0; ; attempt++ {
		err := f()
		if err == nil || ctx.Err() != nil {
			return err
		}
		switch d.verdict(err) {
		case final:
			return err
		case conflict:
			if conflicts++; conflicts > maxConflicts {
				return err
			}
		}
		if time.Now().After(deadline) {
			return err
		}
		if err := sleep(ctx, backOff(attempt)); err != nil {
			return err
		}
	}
}

// backOff is random between half and all of a time that begins at 1 ms and
// doubles with every sixteenth attempt up to 64 ms: short at first, because
// SQLite gives its lock to whoever asks at the right moment.
func backOff(attempt int) time.Duration {
	most := time.Millisecond << min(attempt/16, 6)
	return most/2 + mathrand.N(most/2)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
