package publish

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"

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
	keys := s.keys[:0]
	lengths := make([]int64, 0, len(places))
	for i := range places {
		if places[i].Stored < mostCopied {
			keys, lengths = append(keys, s.keys[i]), append(lengths, places[i].Stored)
		}
	}
	return s.copyPacks(ctx, keys, lengths)
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

// copyPacks copies contents into new packs, which become their places.
func (w *work) copyPacks(ctx context.Context, keys []model.ContentKey, lengths []int64) error {
	kept, err := w.store.OpenContents(ctx, w.set, keys)
	if err != nil {
		return err
	}
	defer kept.Close()
	contents := newCopied(splitContents(kept, keys, lengths))
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
	return contents.err
}

// splitContents yields the contents that kept holds one after another.
func splitContents(kept model.Kept, keys []model.ContentKey, lengths []int64) iter.Seq2[model.Loose, error] {
	return func(yield func(model.Loose, error) bool) {
		const window = 1 << 20
		r := bufio.NewReaderSize(io.NewSectionReader(kept, 0, kept.Size()), window)
		var b []byte
		for i, key := range keys {
			b = append(b[:0], make([]byte, lengths[i])...)
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
