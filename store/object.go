package store

import "gateway/model"

// objectRow is an object that holds content. It goes when it holds none.
type objectRow struct {
	SetID    model.SetID `gorm:"primaryKey;autoIncrement:false"`
	Number   int64       `gorm:"primaryKey;autoIncrement:false"`
	Object   string
	Size     int64
	Contents int64 // that lie there
	Stored   int64 // bytes of these
}

func (objectRow) TableName() string { return "objects" }

func objectColumns() []string {
	return []string{"set_id", "number", "object", "size", "contents", "stored"}
}
