package store

import (
	"context"

	"github.com/google/uuid"

	"gateway/model"
)

// setRow is a set as it is stored.
type setRow struct {
	ID         model.SetID `gorm:"primaryKey;autoIncrement:false"`
	Name       string
	Private    bool
	Metadata   string
	Policy     string
	FeedID     string
	CompleteID string
	Created    model.Time
	Modified   model.Time
}

func (setRow) TableName() string { return "sets" }

func newSetRow(set *model.Set) (row setRow, err error) {
	row = setRow{ID: set.ID, Name: set.Name, Private: set.Private, FeedID: set.FeedID, CompleteID: set.CompleteID,
		Created: set.Created, Modified: set.Modified}
	if row.Metadata, err = marshalMetadata(set); err != nil {
		return row, err
	}
	row.Policy, err = model.MarshalPolicy(set.Policy)
	return row, err
}

func (r *setRow) set() (set model.Set, err error) {
	set = model.Set{ID: r.ID, Name: r.Name, Private: r.Private, FeedID: r.FeedID, CompleteID: r.CompleteID,
		Created: r.Created, Modified: r.Modified}
	if err := unmarshalMetadata(r.Metadata, &set); err != nil {
		return set, err
	}
	set.Policy, err = model.ParsePolicy(r.Policy)
	return set, err
}

// CreateSet creates a set with an empty log and its first epoch at the store's
// base URL. The ids of its feeds are minted here and never change. The error is
// [model.ErrExists] when the name is taken.
func (s *Store) CreateSet(ctx context.Context, set model.Set) (model.Set, error) {
	if err := set.Validate(); err != nil {
		return model.Set{}, err
	}
	set.FeedID, set.CompleteID = uuid.New().URN(), uuid.New().URN()
	err := s.write(ctx, "create set "+set.Name, 0, func(t *tx) error {
		if err := t.lockStore(); err != nil { // for the next id, and the base URL
			return err
		}
		var same []setRow
		if err := t.db.Limit(1).Find(&same, "name = ?", set.Name).Error; err != nil {
			return err
		}
		if len(same) > 0 {
			if same[0].FeedID == set.FeedID {
				return errNothing // an earlier attempt, whose reply was lost, made it
			}
			return model.ErrExists
		}
		var last model.SetID
		if err := t.db.Model(&setRow{}).Select("COALESCE(MAX(id), 0)").Scan(&last).Error; err != nil {
			return err
		}
		set.ID = last + 1
		set.Created = model.TimeOf(s.now())
		set.Modified = set.Created
		return t.createSet(&set)
	})
	s.views.drop(set.Name)
	if err != nil {
		return model.Set{}, err
	}
	return set, nil
}

func (t *tx) createSet(set *model.Set) error {
	row, err := newSetRow(set)
	if err != nil {
		return err
	}
	if err := t.db.Create(&row).Error; err != nil {
		return err
	}
	base, err := meta(t.db, "base_url")
	if err != nil {
		return err
	}
	first := epochRow{SetID: set.ID, Number: 1, Reason: "created", BaseURL: base, Policy: row.Policy,
		FromTime: set.Created, Began: set.Created, Ready: true}
	if err := t.db.Create(&first).Error; err != nil {
		return err
	}
	h := head{Head: model.Head{Time: set.Created, Changed: set.Created}, Boundary: set.Created,
		Epoch: first.Number, SnapshotAt: set.Created, Revision: 1}
	heads := t.inserter("heads", append([]string{"set_id"}, headColumns()...)...)
	if err := heads.add(0, append([]any{set.ID}, h.values()...)...); err != nil {
		return err
	}
	return heads.flush()
}

// UpdateSet changes what people may set of a set: change gets it as it is, and
// is called again when the transaction is repeated. Name, id and the ids of the
// feeds stay.
func (s *Store) UpdateSet(ctx context.Context, name string, change func(*model.Set) error) (model.Set, error) {
	was, err := s.Set(ctx, name)
	if err != nil {
		return model.Set{}, err
	}
	var set model.Set
	err = s.write(ctx, "change set "+name, was.ID, func(t *tx) error {
		var row setRow
		if err := t.db.Take(&row, "id = ?", was.ID).Error; err != nil {
			return err
		}
		if set, err = row.set(); err != nil {
			return err
		}
		next := set
		if err := change(&next); err != nil {
			return err
		}
		next.ID, next.Name, next.FeedID, next.CompleteID, next.Created = set.ID, set.Name, set.FeedID, set.CompleteID, set.Created
		if err := next.Validate(); err != nil {
			return err
		}
		next.Modified = max(model.TimeOf(s.now()), set.Modified+1)
		set, t.info.policy = next, next.Policy
		if row, err = newSetRow(&set); err != nil {
			return err
		}
		return t.db.Save(&row).Error
	})
	if err != nil {
		return model.Set{}, err
	}
	return set, nil
}
