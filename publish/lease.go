package publish

import (
	"context"
	"fmt"

	"gateway/model"
)

// lease makes sure that the set is ours, and keeps it so until letGo: a turn may
// take longer than a lease. It returns [model.ErrHeadMoved] when another
// publisher has the set.
func (w *work) lease(ctx context.Context) error {
	if !w.held {
		ok, err := w.store.Lease(ctx, w.set, w.holder, w.config.Lease)
		if err != nil {
			return fmt.Errorf("lease: %w", err)
		}
		if !ok {
			return model.ErrHeadMoved
		}
		w.held = true
	}
	if w.unkeep == nil {
		w.keep(ctx)
	}
	return nil
}

// keep extends the lease from time to time. One that is lost all the same shows
// when something is published.
func (w *work) keep(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	w.unkeep = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		for sleep(ctx, w.config.Lease/3) == nil {
			if _, err := w.store.Lease(ctx, w.set, w.holder, w.config.Lease); err != nil && ctx.Err() == nil {
				w.config.Log.Warn("the lease of a set could not be extended", "set", w.set, "error", err)
			}
		}
	}()
}

// letGo ends the keeping of the lease, which otherwise could be taken again
// after it was given back.
func (w *work) letGo() {
	if w.unkeep != nil {
		w.unkeep()
		w.unkeep = nil
	}
}

func (w *work) release(ctx context.Context) error {
	if !w.held {
		return nil
	}
	w.held = false
	if err := w.store.Release(ctx, w.set, w.holder); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}
