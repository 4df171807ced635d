package store

import (
	"context"
	"fmt"

	"gateway/model"
)

// epochRow is an epoch as it is stored.
type epochRow struct {
	SetID         model.SetID       `gorm:"primaryKey;autoIncrement:false"`
	Number        model.EpochNumber `gorm:"primaryKey;autoIncrement:false"`
	Reason        string
	BaseURL       string
	Policy        string
	FirstPosition model.Position
	FromTime      model.Time
	Began         model.Time
	Ready         bool
}

func (epochRow) TableName() string { return "epochs" }

func (r *epochRow) epoch() model.Epoch {
	return model.Epoch{Number: r.Number, Reason: r.Reason, BaseURL: r.BaseURL, First: r.FirstPosition, From: r.FromTime, Began: r.Began}
}

// OpenEpoch begins a new epoch of the set at the store's base URL. When the
// current one is there already, it is returned and nothing changes, so that of
// several processes that move a store each set is moved by one. The change lists
// of the new epoch begin with the first change, as those of the epoch before; its
// renderers start over. Until [Store.Publish] says that they have caught up the
// set is not ready. Of the old epoch nothing is published any more.
func (s *Store) OpenEpoch(ctx context.Context, set model.SetID, reason string) (model.Epoch, error) {
	var epoch model.Epoch
	err := s.write(ctx, "open an epoch", set, func(t *tx) error {
		if err := t.lockStore(); err != nil {
			return err
		}
		base, err := meta(t.db, "base_url")
		if err != nil {
			return err
		}
		var last epochRow
		if err := t.db.Take(&last, "set_id = ? AND number = ?", set, t.head.Epoch).Error; err != nil {
			return fmt.Errorf("read epoch %d: %w", t.head.Epoch, err)
		}
		if last.BaseURL == base {
			epoch = last.epoch()
			return errNothing
		}
		policy, err := model.MarshalPolicy(t.info.policy)
		if err != nil {
			return err
		}
		row := epochRow{SetID: set, Number: last.Number + 1, Reason: reason, BaseURL: base, Policy: policy,
			FromTime: t.info.created, Began: max(model.TimeOf(s.now()), last.Began+1)}
		if err := t.db.Create(&row).Error; err != nil {
			return fmt.Errorf("write epoch %d: %w", row.Number, err)
		}
		h := t.head
		h.Epoch, h.Snapshot, h.SnapshotPosition, h.SnapshotAt = row.Number, 0, 0, t.info.created
		h.Rendering, h.Superseded = 0, 0
		t.info.ready = false
		epoch = row.epoch()
		return nil
	})
	return epoch, err
}
