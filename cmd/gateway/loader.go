package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"gateway/ingest"
	"gateway/model"
	"gateway/publish"
	"gateway/resourcesync"
	"gateway/store"
)

// loader is the store as a bulk import sees it. It publishes what the import
// makes ready while the import goes on: a set's commits take its publishing
// lease when it is free, and whoever has the lease publishes. When publishing
// does not keep up, the import waits.
type loader struct {
	*opened
	queue *publish.Queue // made for the first commit that cut

	mu   sync.Mutex
	seen map[string]model.Set // the sets written to, by name; guarded by mu
}

// maxWaiting is how many cut segments of a set may wait to be published before
// the import waits for them.
const maxWaiting = 64

// newLoader is a loader into st; the caller ends it with publish.
func newLoader(st *opened) *loader {
	return &loader{opened: st, seen: map[string]model.Set{}}
}

// OpenSet implements [ingest.Store].
func (l *loader) OpenSet(ctx context.Context, name string) (model.Set, model.Head, error) {
	_, err := l.Set(ctx, name)
	if errors.Is(err, model.ErrNotFound) {
		_, err = l.CreateSet(ctx, model.Set{Name: name, Policy: model.DefaultPolicy()})
	}
	if err != nil && !errors.Is(err, model.ErrExists) {
		return model.Set{}, model.Head{}, fmt.Errorf("open set %s: %w", name, err)
	}
	v, err := l.View(ctx, name, "")
	if err != nil {
		return model.Set{}, model.Head{}, fmt.Errorf("open set %s: %w", name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[name] = v.Set
	return v.Set, v.Head, nil
}

// Commit implements [ingest.Store].
func (l *loader) Commit(ctx context.Context, set model.SetID, batch []model.Incoming) (ingest.Committed, error) {
	c, err := l.Store.Commit(ctx, set, batch, store.CommitOptions{Hold: l.publisher.Holder(), HoldFor: l.publisher.LeaseTime()})
	return ingest.Committed(c), err
}

// Heads implements [ingest.Store].
func (l *loader) Heads(ctx context.Context) (map[string]model.Head, error) {
	heads := map[string]model.Head{}
	for v, err := range l.sets(ctx) {
		if err != nil {
			return nil, err
		}
		heads[v.Set.Name] = v.Head
	}
	return heads, nil
}

// committed has the set published after a commit that cut, and waits when too
// much waits already.
func (l *loader) committed(ctx context.Context, set model.Set, c ingest.Committed) error {
	if c.Held && c.Waiting > 0 || c.Waiting >= maxWaiting {
		if l.queue == nil {
			l.queue = l.publisher.Queue(ctx)
		}
		l.queue.Add(set.ID)
	}
	if c.Waiting >= maxWaiting {
		l.queue.Wait(set.ID)
	}
	return ctx.Err()
}

// patience is how long an import waits at its end for another process that
// publishes the same set. A publisher that was killed is waited for, a bulk
// import that goes on is not: it publishes what this one wrote.
const patience = 15 * time.Second

// publish ends the loader: it does what is due in the sets written to, several
// at a time, and lets their leases go. A set's first import ends with a
// snapshot. When ctx is done already only the leases go, so that a running serve
// can do the rest at once.
func (l *loader) publish(ctx context.Context) error {
	if l.queue != nil {
		l.queue.Close()
	}
	if ctx.Err() != nil {
		return l.release(context.WithoutCancel(ctx))
	}
	var (
		workers sync.WaitGroup
		names   = make(chan string)
		mu      sync.Mutex
		failed  []error // guarded by mu
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for name := range names {
				if err := l.publisher.PublishWithin(ctx, l.seen[name].ID, publish.First, patience); err != nil {
					mu.Lock()
					failed = append(failed, fmt.Errorf("set %s: %w", name, err))
					mu.Unlock()
				}
			}
		})
	}
	for _, name := range l.names() {
		names <- name
	}
	close(names)
	workers.Wait()
	return errors.Join(failed...)
}

func (l *loader) release(ctx context.Context) error {
	var failed []error
	for _, name := range l.names() {
		failed = append(failed, l.Release(ctx, l.seen[name].ID, l.publisher.Holder()))
	}
	return errors.Join(failed...)
}

// names are the sets written to.
func (l *loader) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.seen))
}

// maxShown is how many sets an import names at its end.
const maxShown = 20

// showSets says where the sets written to are published.
func (l *loader) showSets(to io.Writer, base string) {
	names := l.names()
	for _, name := range names[:min(len(names), maxShown)] {
		fmt.Fprintln(to, base+resourcesync.CapabilityListPath(name))
	}
	if more := len(names) - maxShown; more > 0 {
		fmt.Fprintf(to, "and %d more sets\n", more)
	}
}
