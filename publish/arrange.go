package publish

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"gateway/model"
)

const (
	// maxRuns is in how many pieces the content of a part may lie. Each is a
	// read of its own when a dump is sent.
	maxRuns = 256
	// mostCopied is the length of content that stays where it is, however many
	// runs there are: a read of its own costs it nothing.
	mostCopied = 1 << 20
)

// arrange copies the content of the open part into new packs, in the order of
// the part, when it lies in too many pieces.
func (s *snapshotting) arrange(ctx context.Context) error {
	places, err := s.store.Places(ctx, s.set, s.keys)
	if err != nil {
		return err
	}
	if countRuns(s.keys, places) <= maxRuns {
		return nil
	}
	// The pack of the log comes first, or it would undo the arrangement.
	if s.pending != nil {
		if err := s.store.Pack(ctx, *s.pending); err != nil {
			return err
		}
		s.pending = nil
	}
	keys, small := s.keys[:0], places[:0]
	for i := range places {
		if places[i].Stored < mostCopied {
			keys, small = append(keys, s.keys[i]), append(small, places[i])
		}
	}
	return s.copyPacks(ctx, keys, small)
}

// countRuns counts the pieces in which content lies. What is next to each other
// in the database is read together as well.
func countRuns(keys []model.ContentKey, places []model.Place) int {
	runs := 0
	var key model.ContentKey
	var last model.Place
	for i, p := range places {
		if p.Stored == 0 || p.Stored >= mostCopied {
			continue
		}
		together := p.Object != "" && p.Start == last.Start+last.Stored || p.Object == "" && keys[i] == key+1
		if runs == 0 || p.Object != last.Object || !together {
			runs++
		}
		key, last = keys[i], p
	}
	return runs
}

// compact copies the content of packs that are more than half without content,
// in the order of the log.
func (w *work) compact(ctx context.Context) error {
	var keys []model.ContentKey
	flush := func() error {
		places, err := w.store.Places(ctx, w.set, keys)
		if err == nil {
			err = w.copyPacks(ctx, keys, places)
		}
		keys = keys[:0]
		return err
	}
	for key, err := range w.store.Sparse(ctx, w.set) {
		if err != nil {
			return err
		}
		if keys = append(keys, key); len(keys) == packContents {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// copyPacks copies contents, which lie at places, into new packs. Objects that
// hold none any more are removed at once: who has one open reads on, and who
// finds it gone looks for its content again.
func (w *work) copyPacks(ctx context.Context, keys []model.ContentKey, places []model.Place) error {
	kept, err := w.store.OpenContents(ctx, w.set, keys)
	if err != nil {
		return err
	}
	defer kept.Close()
	contents := newCopied(splitContents(kept, keys, places))
	defer contents.stop()
	for contents.more {
		if err := w.lease(ctx); err != nil {
			return err
		}
		pack := w.newPack()
		if err := contents.pack(ctx, w.objects, &pack); err != nil {
			return err
		}
		pack.To = 0
		if err := w.store.Pack(ctx, pack); err != nil {
			return err
		}
	}
	if contents.err != nil {
		return contents.err
	}
	return w.removeLeft(ctx, places)
}

// removeLeft removes the objects among places that hold nothing any more.
func (w *work) removeLeft(ctx context.Context, places []model.Place) error {
	var objects []string
	for i, p := range places {
		if p.Object != "" && (i == 0 || p.Object != places[i-1].Object) {
			objects = append(objects, p.Object)
		}
	}
	slices.Sort(objects)
	left, err := w.store.Unreferenced(ctx, slices.Compact(objects))
	for _, object := range left {
		err = errors.Join(err, w.objects.Delete(ctx, object))
	}
	return err
}

// splitContents yields the contents that kept holds one after another.
func splitContents(kept model.Kept, keys []model.ContentKey, places []model.Place) iter.Seq2[model.Loose, error] {
	return func(yield func(model.Loose, error) bool) {
		const window = 1 << 20
		r := bufio.NewReaderSize(io.NewSectionReader(kept, 0, kept.Size()), window)
		var b []byte
		for i, key := range keys {
			b = append(b[:0], make([]byte, places[i].Stored)...)
			if _, err := io.ReadFull(r, b); err != nil {
				yield(model.Loose{}, fmt.Errorf("read content %d: %w", key, err))
				return
			}
			if !yield(model.Loose{Key: key, Kept: b}, nil) {
				return
			}
		}
	}
}
