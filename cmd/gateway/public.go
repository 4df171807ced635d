package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"gateway/atompmh"
	"gateway/internal/httpx"
	"gateway/model"
	"gateway/resource"
	"gateway/resourcesync"
	"gateway/wellknown"
)

// site is the store as the public sees it.
type site interface {
	atompmh.Source
	resourcesync.Source
	wellknown.Source
	resource.Source
	homeSource
	basePathsSource
}

// publicHandler answers every public path from s, with and without the path of
// the base URL.
func publicHandler(s site, log, access *slog.Logger, options ...httpx.Option) http.Handler {
	engine := httpx.New(log, access, options...)
	newHome(s, log).register(engine)
	atompmh.New(s).Register(engine)
	resourcesync.New(s, model.Limits{}).Register(engine)
	wellknown.New(s, model.Limits{}).Register(engine)
	resource.New(s, resourcesync.CapabilityListPath).Register(engine)
	paths := &basePaths{store: s}
	return httpx.UnderBase(engine, paths.get)
}

// basePaths are the paths of the store's base URLs, which another process may
// change at any time. They are asked for by every request, so they are
// remembered for as long as a shared read of a head is.
type basePaths struct {
	store basePathsSource

	mu    sync.Mutex
	paths []string  // guarded by mu, as is
	read  time.Time // when they were read
}

type basePathsSource interface {
	BasePaths(ctx context.Context) ([]string, error)
}

const basePathsAge = 50 * time.Millisecond

func (p *basePaths) get() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.read) < basePathsAge {
		return p.paths
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// While the store does not answer, the last paths known are the best guess.
	if paths, err := p.store.BasePaths(ctx); err == nil {
		p.paths = paths
	}
	p.read = time.Now()
	return p.paths
}
