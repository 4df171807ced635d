package store

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"gateway/model"
)

// located is where contents lie. A place without object is the database.
type located struct {
	places []place
	names  map[int64]string // of the objects, by their number
}

// locate finds out where contents are kept, in the order of keys; the error
// wraps [model.ErrNotFound] when one is nowhere. Content that moves meanwhile is
// looked for once more.
func (s *Store) locate(ctx context.Context, set model.SetID, keys []model.ContentKey) (*located, error) {
	found, missing, err := s.lookUp(ctx, set, keys)
	if err == nil && missing != 0 {
		found, missing, err = s.lookUp(ctx, set, keys)
	}
	if err != nil {
		return nil, err
	}
	if missing != 0 {
		return nil, fmt.Errorf("content %d: %w", missing, model.ErrNotFound)
	}
	return found, nil
}

// lookUp is one attempt of locate; missing is a content that it did not find.
func (s *Store) lookUp(ctx context.Context, set model.SetID, keys []model.ContentKey) (found *located, missing model.ContentKey, err error) {
	pool := s.reader.Statement.ConnPool
	found = &located{names: map[int64]string{}}
	if found.places, err = readPlaces(ctx, pool, set, keys); err != nil {
		return nil, 0, err
	}
	var loose []model.ContentKey
	var objects []int64
	for i, p := range found.places {
		if _, ok := found.names[p.object]; p.object == 0 {
			loose = append(loose, keys[i])
		} else if !ok {
			found.names[p.object] = ""
			objects = append(objects, p.object)
		}
	}
	if err := readNames(ctx, pool, set, objects, found.names); err != nil {
		return nil, 0, err
	}
	lengths, err := readLengths(ctx, pool, set, loose)
	if err != nil {
		return nil, 0, err
	}
	for i := range found.places {
		p := &found.places[i]
		if p.object != 0 {
			if found.names[p.object] == "" {
				return nil, keys[i], nil
			}
			continue
		}
		stored, ok := lengths[keys[i]]
		if !ok {
			return nil, keys[i], nil
		}
		p.stored = stored
	}
	return found, 0, nil
}

// readNames sets the keys of the objects with the numbers given.
func readNames(ctx context.Context, pool gorm.ConnPool, set model.SetID, objects []int64, names map[int64]string) error {
	for some := range slices.Chunk(objects, pageRows/2) {
		args := make([]any, 1, 1+len(some))
		args[0] = set
		for _, object := range some {
			args = append(args, object)
		}
		query := "SELECT number, object FROM objects WHERE set_id = ? AND number IN (" + marks(len(some)) + ")"
		err := scanRows(ctx, pool, query, args, func(n number, object []byte) error {
			names[int64(n)] = string(object)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read objects: %w", err)
		}
	}
	return nil
}

// readLengths returns how long the contents are that lie in the database.
func readLengths(ctx context.Context, pool gorm.ConnPool, set model.SetID, keys []model.ContentKey) (map[model.ContentKey]int64, error) {
	lengths := make(map[model.ContentKey]int64, len(keys))
	for some := range slices.Chunk(keys, pageRows/2) {
		query := "SELECT content_key, LENGTH(bytes) FROM content_bytes WHERE set_id = ? AND content_key IN (" + marks(len(some)) + ")"
		var length number
		err := scanRows(ctx, pool, query, keyArgs(set, some), func(key number, text []byte) error {
			if err := length.Scan(text); err != nil {
				return err
			}
			lengths[model.ContentKey(key)] = int64(length)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read lengths of content: %w", err)
		}
	}
	return lengths, nil
}

func keyArgs(set model.SetID, keys []model.ContentKey) []any {
	args := make([]any, 1, 1+len(keys))
	args[0] = set
	for _, key := range keys {
		args = append(args, key)
	}
	return args
}

// Places returns where contents are kept, in the order of keys.
func (s *Store) Places(ctx context.Context, set model.SetID, keys []model.ContentKey) ([]model.Place, error) {
	found, err := s.locate(ctx, set, keys)
	if err != nil {
		return nil, fmt.Errorf("places of %d contents: %w", len(keys), err)
	}
	places := make([]model.Place, len(keys))
	for i, p := range found.places {
		places[i] = model.Place{Object: found.names[p.object], Start: p.start, Stored: p.stored}
	}
	return places, nil
}
