package store

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"gateway/model"
)

// whereSparse finds the objects that are more than half without content, since
// it was copied elsewhere.
const whereSparse = "set_id = ? AND stored * 2 < size"

// Sparse yields, by rising key, the content of objects that are more than half
// without content. What it yields may be copied meanwhile.
func (s *Store) Sparse(ctx context.Context, set model.SetID) iter.Seq2[model.ContentKey, error] {
	return func(yield func(model.ContentKey, error) bool) {
		var numbers []int64
		err := s.reader.WithContext(ctx).Model(&objectRow{}).Where(whereSparse, set).Order("number").Pluck("number", &numbers).Error
		if err != nil {
			yield(0, fmt.Errorf("read sparse objects: %w", err))
			return
		}
		if len(numbers) == 0 {
			return
		}
		var keys []model.ContentKey
		for after := int64(-1); ; {
			keys = keys[:0]
			last, err := scanPlaces(ctx, s.reader.Statement.ConnPool, set, after, func(page int64, p *placePage) {
				for slot := range p {
					if _, sparse := slices.BinarySearch(numbers, p[slot].object); sparse {
						keys = append(keys, model.ContentKey(page*pageKeys+int64(slot)+1))
					}
				}
			})
			if err != nil {
				yield(0, err)
				return
			}
			for _, key := range keys {
				if !yield(key, nil) {
					return
				}
			}
			if last == after {
				return
			}
			after = last
		}
	}
}

// noteSparse tells publishing whether there are sparse objects.
func (t *tx) noteSparse() error {
	var n int64
	if err := t.db.Model(&objectRow{}).Where(whereSparse, t.set).Limit(1).Count(&n).Error; err != nil {
		return fmt.Errorf("look for sparse objects: %w", err)
	}
	t.head.Sparse = n > 0
	return nil
}
