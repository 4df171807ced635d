package store

import (
	"context"

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

// OpenEpoch begins a new epoch of the set at another base URL. Its change lists
// begin with the first change, as those of the epoch before; its renderers start
// over. Until [Store.Publish] says that they have caught up the set is not
// ready. Of the old epoch nothing is published any more.
func (s *Store) OpenEpoch(ctx context.Context, set model.SetID, reason, baseURL string) (model.Epoch, error) {
	var epoch model.Epoch
	err := s.write(ctx, "open an epoch", set, func(t *tx) error {
		var last epochRow
		if err := t.db.Take(&last, "set_id = ? AND number = ?", set, t.head.Epoch).Error; err != nil {
			return err
		}
		policy, err := model.MarshalPolicy(t.info.policy)
		if err != nil {
			return err
		}
		row := epochRow{SetID: set, Number: last.Number + 1, Reason: reason, BaseURL: baseURL, Policy: policy,
			FromTime: t.info.created, Began: max(model.TimeOf(s.now()), last.Began+1)}
		if err := t.db.Create(&row).Error; err != nil {
			return err
		}
		h := t.head
		h.Epoch, h.Snapshot, h.SnapshotPosition, h.SnapshotAt = row.Number, 0, 0, t.info.created
		h.Rendering, h.Superseded = 0, 0
		t.info.ready = false
		epoch = model.Epoch{Number: row.Number, Reason: reason, BaseURL: baseURL, From: row.FromTime, Began: row.Began}
		return nil
	})
	return epoch, err
}
