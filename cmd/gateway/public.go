package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
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
}

// publicHandler answers every public path from s, with and without the path of
// the base URL.
func publicHandler(s site, log, access *slog.Logger) http.Handler {
	engine := httpx.New(log, access)
	newHome(s).register(engine)
	atompmh.New(s).Register(engine)
	resourcesync.New(s, model.Limits{}).Register(engine)
	wellknown.New(s, model.Limits{}).Register(engine)
	resource.New(s, resourcesync.CapabilityListPath).Register(engine)
	path := &basePath{store: s}
	return httpx.UnderBase(engine, path.get)
}

// basePath is the path of the store's base URL, which another process may
// change at any time. It is asked for by every request, so it is remembered for
// as long as a shared read of a head is.
type basePath struct {
	store interface {
		BaseURL(ctx context.Context) (string, error)
	}

	mu   sync.Mutex
	path string    // guarded by mu, as is
	read time.Time // when it was read
}

const basePathAge = 50 * time.Millisecond

func (p *basePath) get() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.read) < basePathAge {
		return p.path
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// While the store does not answer, the last path known is the best guess.
	if base, err := p.store.BaseURL(ctx); err == nil {
		if u, err := url.Parse(base); err == nil {
			p.path = u.EscapedPath()
		}
	}
	p.read = time.Now()
	return p.path
}
