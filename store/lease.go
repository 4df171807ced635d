package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"gateway/model"
)

// leasePublish is the kind of lease that publishing a set takes.
const leasePublish = "publish"

// leaseKept is how long a lease lasts at least after its holder has published
// something.
const leaseKept = model.Time(10 * time.Second / time.Microsecond)

// leaseRow is a lease as it is stored: of holder until a time of the database's
// clock.
type leaseRow struct {
	SetID     model.SetID `gorm:"primaryKey;autoIncrement:false"`
	Kind      string      `gorm:"primaryKey"`
	Holder    string
	UntilTime model.Time
}

func (leaseRow) TableName() string { return "leases" }

// Lease takes the set's publishing lease for the holder until d from now on the
// database's clock, or extends it when the holder has it. ok is false while
// somebody else has it.
func (s *Store) Lease(ctx context.Context, set model.SetID, holder string, d time.Duration) (ok bool, err error) {
	err = s.write(ctx, "lease", 0, func(t *tx) (err error) {
		t.set = set
		if ok, err = t.lease(holder, d); err == nil && !ok {
			err = errNothing
		}
		return err
	})
	return ok && err == nil, err
}

// Release gives the lease back, if the holder has it.
func (s *Store) Release(ctx context.Context, set model.SetID, holder string) error {
	return s.write(ctx, "release", 0, func(t *tx) error {
		t.set = set
		return t.release(holder)
	})
}

// readLease returns the lease and keeps others from changing it; ok is false
// when nobody ever had it.
func (t *tx) readLease() (row leaseRow, ok bool, err error) {
	db := t.db.Where("set_id = ? AND kind = ?", t.set, leasePublish)
	err = db.Clauses(clause.Locking{Strength: "UPDATE"}).Take(&row).Error
	if isNoRow(err) {
		return row, false, nil
	}
	return row, err == nil, err
}

func (t *tx) lease(holder string, d time.Duration) (bool, error) {
	row, ok, err := t.readLease()
	if err != nil {
		return false, err
	}
	now := t.now()
	if ok && row.Holder != holder && row.UntilTime > now {
		return false, nil
	}
	until := now + model.Time(d/time.Microsecond)
	if ok && row.Holder == holder && row.UntilTime-now > (until-now)/2 {
		return true, nil // long enough to save the write
	}
	row = leaseRow{SetID: t.set, Kind: leasePublish, Holder: holder, UntilTime: until}
	if ok {
		return true, t.db.Save(&row).Error
	}
	return true, t.db.Create(&row).Error // of two at once one gets a conflict and sees the other
}

// holder is who has the set's publishing lease, or "".
func (s *Store) holder(db *gorm.DB, set model.SetID) (string, error) {
	clock, args := s.dialect.clock(), []any{set, leasePublish}
	if clock == "" {
		clock, args = "?", append(args, model.TimeOf(s.now()))
	}
	var row leaseRow
	err := db.Take(&row, append([]any{"set_id = ? AND kind = ? AND until_time > " + clock}, args...)...).Error
	if err != nil && !isNoRow(err) {
		return "", fmt.Errorf("read lease: %w", err)
	}
	return row.Holder, nil
}

// holds tells whether the holder has the lease now.
func (t *tx) holds(holder string) (bool, error) {
	row, ok, err := t.readLease()
	return ok && row.Holder == holder && row.UntilTime > t.now(), err
}

// keep makes sure that nobody else has had the lease since the holder took it,
// and that it lasts a while yet; the error is [model.ErrHeadMoved] otherwise. A
// lease that ran out and that nobody took is still the holder's: a turn that
// takes longer than its lease must get its work in, or no turn ever would.
func (t *tx) keep(holder string) error {
	if holder == "" {
		return nil
	}
	row, ok, err := t.readLease()
	if err != nil {
		return fmt.Errorf("read lease: %w", err)
	}
	if !ok || row.Holder != holder {
		return fmt.Errorf("the lease is lost: %w", model.ErrHeadMoved)
	}
	now := t.now()
	if row.UntilTime > now+leaseKept/2 {
		return nil
	}
	row.UntilTime = now + leaseKept
	if err := t.db.Save(&row).Error; err != nil {
		return fmt.Errorf("keep the lease: %w", err)
	}
	return nil
}

func (t *tx) release(holder string) error {
	return t.db.Exec("UPDATE leases SET until_time = 0 WHERE set_id = ? AND kind = ? AND holder = ?", t.set, leasePublish, holder).Error
}
