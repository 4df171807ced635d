package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gateway/model"
)

const (
	// viewFor is how long a view read is used: what other processes write shows
	// within it.
	viewFor = 50 * time.Millisecond
	// maxViews bounds the views kept, those being read among them.
	maxViews = 4096
)

// views shares the reads of heads in this process: of each set and renderer one
// is under way at most, and its result is used for viewFor. So are the rows of
// documents. Its zero value is ready.
type views struct {
	mu        sync.Mutex
	sets      map[string]map[string]*sharedView // by set and renderer
	kept      int
	documents map[documentKey]sharedDocument
	drops     int64 // how often this process has written
}

// sharedView is one read. Its view and err are set when done is closed.
type sharedView struct {
	began time.Time
	done  chan struct{}
	view  model.View
	err   error
}

// usable tells whether a caller that comes at now may share v.
func (v *sharedView) usable(now time.Time) bool {
	select {
	case <-v.done:
		return v.err == nil && now.Sub(v.began) < viewFor
	default:
		return true // what is committed after it began is dropped by its writer
	}
}

// View returns the set as it is shown to the renderer, at most 50 ms old; writes
// through this Store show at once. The view is shared: its slices are not to be
// changed.
func (s *Store) View(ctx context.Context, set, renderer string) (model.View, error) {
	if !model.ValidSetName(set) { // comes from requests, and may be of any length
		return model.View{}, fmt.Errorf("a set of such a name: %w", model.ErrNotFound)
	}
	v, fresh := s.views.share(set, renderer)
	if fresh {
		// Others wait for this read too, so the caller's giving up does not end it.
		go s.readShared(context.WithoutCancel(ctx), v, set, renderer)
	}
	select {
	case <-v.done:
		return v.view, v.err
	case <-ctx.Done():
		return model.View{}, ctx.Err()
	}
}

func (s *Store) readShared(ctx context.Context, v *sharedView, set, renderer string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	v.view, v.err = s.readView(ctx, set, renderer)
	close(v.done)
	if v.err != nil {
		s.views.forget(v, set, renderer)
	}
}

// share returns the read to wait for; fresh tells the caller to make it. With as
// many reads under way as are kept at most, a further one is not shared.
func (c *views) share(set, renderer string) (v *sharedView, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if v = c.sets[set][renderer]; v != nil && v.usable(now) {
		return v, false
	}
	if c.kept >= maxViews {
		c.sweep(now)
	}
	if c.sets[set][renderer] == nil && c.kept >= maxViews {
		return &sharedView{began: now, done: make(chan struct{})}, true
	}
	if c.sets == nil {
		c.sets = map[string]map[string]*sharedView{}
	}
	if c.sets[set] == nil {
		c.sets[set] = map[string]*sharedView{}
	}
	if c.sets[set][renderer] == nil {
		c.kept++
	}
	v = &sharedView{began: now, done: make(chan struct{})}
	c.sets[set][renderer] = v
	return v, true
}

func (c *views) sweep(now time.Time) {
	for set, byRenderer := range c.sets {
		for renderer, v := range byRenderer {
			if !v.usable(now) {
				delete(byRenderer, renderer)
				c.kept--
			}
		}
		if len(byRenderer) == 0 {
			delete(c.sets, set)
		}
	}
}

// forget stops keeping a read that failed: anybody can ask for what is not there.
func (c *views) forget(v *sharedView, set, renderer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byRenderer := c.sets[set]
	if byRenderer[renderer] != v {
		return // another has taken its place
	}
	delete(byRenderer, renderer)
	c.kept--
	if len(byRenderer) == 0 {
		delete(c.sets, set)
	}
}

// drop forgets the set's views, and all documents, because this process has
// written.
func (c *views) drop(set string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.documents = nil
	c.drops++
	c.kept -= len(c.sets[set])
	delete(c.sets, set)
}
