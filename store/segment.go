package store

import (
	"context"

	"gateway/model"
)

// storedSegment is a segment as it is stored.
type storedSegment struct {
	Number        model.SegmentNumber
	FirstPosition model.Position
	LastPosition  model.Position
	FromTime      model.Time
	UntilTime     model.Time
	LastKey       model.ContentKey // the last given out when it was cut
}

func (storedSegment) TableName() string { return "segments" }

func (r *storedSegment) segment() model.Segment {
	return model.Segment{Number: r.Number, First: r.FirstPosition, Last: r.LastPosition, From: r.FromTime, Until: r.UntilTime}
}

// Segments implements [model.Log].
func (s *Store) Segments(ctx context.Context, set model.SetID, after model.SegmentNumber, limit int) ([]model.Segment, error) {
	var rows []storedSegment
	err := s.reader.WithContext(ctx).Order("number").Limit(limit).Find(&rows, "set_id = ? AND number > ?", set, after).Error
	if err != nil {
		return nil, orNotFound(err, "read segments after %d", after)
	}
	segments := make([]model.Segment, len(rows))
	for i := range rows {
		segments[i] = rows[i].segment()
	}
	return segments, nil
}

// Segment returns segment n, or [model.ErrNotFound].
func (s *Store) Segment(ctx context.Context, set model.SetID, n model.SegmentNumber) (model.Segment, error) {
	var row storedSegment
	if err := s.reader.WithContext(ctx).Take(&row, "set_id = ? AND number = ?", set, n).Error; err != nil {
		return model.Segment{}, orNotFound(err, "segment %d", n)
	}
	return row.segment(), nil
}
