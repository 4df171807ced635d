package publish

import (
	"context"
	"fmt"
	"time"
)

// collectEvery collects garbage from time to time until ctx ends.
func (p *Publisher) collectEvery(ctx context.Context) {
	for sleep(ctx, p.config.CollectEvery) == nil {
		removed, size, err := p.Collect(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.config.Log.Error("collecting unreferenced objects failed; trying again later", "error", err)
		case removed > 0:
			p.config.Log.Info("unreferenced objects removed", "objects", removed, "bytes", size)
		}
	}
}

// Collect removes the objects that no row and no live intent names and that are
// older than Config.CollectAge: what crashed or slower publishers left, and the
// documents of expired snapshots. Keys are never used twice, so an object
// without a reference stays without one, but for those being made right now,
// which are young.
func (p *Publisher) Collect(ctx context.Context) (removed int, size int64, err error) {
	const page = 500
	old := p.config.Now().Add(-p.config.CollectAge)
	sizes := make(map[string]int64, page)
	sweep := func() error {
		keys := make([]string, 0, len(sizes))
		for k := range sizes {
			keys = append(keys, k)
		}
		garbage, err := p.store.Unreferenced(ctx, keys)
		if err != nil {
			return fmt.Errorf("look for references: %w", err)
		}
		for _, k := range garbage {
			if err := p.objects.Delete(ctx, k); err != nil {
				return err
			}
			removed++
			size += sizes[k]
		}
		clear(sizes)
		return nil
	}
	for o, err := range p.objects.List(ctx) {
		if err != nil {
			return removed, size, err
		}
		if !old.After(o.Created.Truncate(time.Second)) {
			continue
		}
		if sizes[o.Key] = o.Size; len(sizes) == page {
			if err := sweep(); err != nil {
				return removed, size, err
			}
		}
	}
	if len(sizes) > 0 {
		if err := sweep(); err != nil {
			return removed, size, err
		}
	}
	return removed, size, nil
}
