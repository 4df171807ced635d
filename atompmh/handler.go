package atompmh

import (
	"context"
	"fmt"

	"github.com/gin-gonic/gin"

	"gateway/internal/httpx"
	"gateway/model"
)

// rendering is the version of what the documents made on request look like. It
// is part of their ETags, so it rises with every change to their bytes.
const rendering = 1

// Source is what the handlers read.
type Source interface {
	model.Log
	// View returns a set as the named renderer has published it, or
	// [model.ErrNotFound].
	View(ctx context.Context, set, renderer string) (model.View, error)
	// Views returns up to limit public sets whose names follow after, by name.
	Views(ctx context.Context, after string, limit int) ([]model.View, error)
	// Document returns the stored document at path, or [model.ErrNotFound].
	Document(ctx context.Context, set model.SetID, path string) (model.Document, error)
	// OpenObject opens the bytes of a stored document.
	OpenObject(ctx context.Context, key string) (model.Kept, error)
}

// Handler serves the Atom documents.
type Handler struct {
	source Source
}

// New is a handler that reads from source.
func New(source Source) *Handler { return &Handler{source} }

// Register adds the handlers' routes to r. Requests come with paths below the
// base URL.
func (h *Handler) Register(r gin.IRoutes) {
	httpx.GET(r, ServicePath, h.service)
	httpx.GET(r, SubscriptionPath(":set"), h.subscription)
	httpx.GET(r, CompletePath(":set"), h.complete)
	httpx.GET(r, SubscriptionPath(":set")+"/:epoch/archive/:segment", h.archive)
}

func (h *Handler) service(c *gin.Context) {
	b, changed, err := AppendService(c.Request.Context(), nil, h.source)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	httpx.ServeRendered(c, httpx.Rendered{
		Type:         ServiceMediaType,
		LastModified: changed,
		Caching:      httpx.Moving,
		Render:       func(to []byte) ([]byte, error) { return append(to, b...), nil },
	})
}

func (h *Handler) subscription(c *gin.Context) {
	set, err := ParseSubscriptionPath(c.Request.URL.Path)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	v, err := h.ready(c, set)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	_, updated := v.Shown()
	httpx.ServeRendered(c, moving(&v, "subscription", updated, func(b []byte) ([]byte, error) {
		return AppendSubscription(c.Request.Context(), b, h.source, &v)
	}))
}

func (h *Handler) complete(c *gin.Context) {
	set, err := ParseCompletePath(c.Request.URL.Path)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	v, err := h.ready(c, set)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	render := func(b []byte) ([]byte, error) {
		return AppendComplete(c.Request.Context(), b, h.source, &v)
	}
	if v.Next == nil && !offersComplete(&v) {
		httpx.Fail(c, fmt.Errorf("complete feed of set %s: %w", set, model.ErrNotFound))
		return
	}
	if v.Next != nil {
		// Cut segments wait, so the head's count is not that of the position
		// shown. Only rendering tells whether there is a feed at all, and a
		// condition of the request may not answer before that.
		b, err := render(nil)
		if err != nil {
			httpx.Fail(c, err)
			return
		}
		render = func(to []byte) ([]byte, error) { return append(to, b...), nil }
	}
	_, updated := v.Shown()
	httpx.ServeRendered(c, moving(&v, "complete", updated, render))
}

func (h *Handler) archive(c *gin.Context) {
	archive, err := ParseArchivePath(c.Request.URL.Path)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	v, err := h.source.View(c.Request.Context(), archive.Set, Renderer{}.Name())
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	switch {
	case archive.Epoch < v.Epoch.Number:
		httpx.Fail(c, fmt.Errorf("epoch %d of set %s: %w", archive.Epoch, archive.Set, model.ErrGone))
	case archive.Epoch > v.Epoch.Number || archive.Segment > v.Published.Number:
		httpx.Fail(c, fmt.Errorf("%s: %w", archive.Path(), model.ErrNotFound))
	case archive.Segment < v.Published.Number:
		h.sealed(c, &v, archive)
	default:
		h.newest(c, &v)
	}
}

// sealed answers with a stored archive document.
func (h *Handler) sealed(c *gin.Context, v *model.View, archive Archive) {
	d, err := h.source.Document(c.Request.Context(), v.Set.ID, archive.Path())
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	httpx.ServeStored(c, httpx.Stored{
		Type:         d.Type,
		Content:      d.Content,
		Zstd:         d.Zstd,
		LastModified: d.LastModified,
		Caching:      httpx.Immutable,
		Open:         func(ctx context.Context) (model.Kept, error) { return h.source.OpenObject(ctx, d.Object) },
	})
}

// newest answers with the archive document of the newest published segment,
// which gets its next-archive only when another segment follows.
func (h *Handler) newest(c *gin.Context, v *model.View) {
	if !v.Ready {
		httpx.Fail(c, notReady(v))
		return
	}
	httpx.ServeRendered(c, moving(v, "archive", v.Published.Until, func(b []byte) ([]byte, error) {
		return AppendArchive(c.Request.Context(), b, h.source, v, false)
	}))
}

// ready is the view of a set whose moving documents are available.
func (h *Handler) ready(c *gin.Context, set string) (model.View, error) {
	v, err := h.source.View(c.Request.Context(), set, Renderer{}.Name())
	if err == nil && !v.Ready {
		err = notReady(&v)
	}
	return v, err
}

func notReady(v *model.View) error {
	return fmt.Errorf("epoch %d of set %s: %w", v.Epoch.Number, v.Set.Name, model.ErrNotReady)
}

// moving is a document of v that goes on. Everything it depends on is in its
// ETag. It was last modified at updated or when its head was, whichever is
// later: publishing a segment, describing the set anew and moving it to another
// base URL change documents without a change of a record.
func moving(v *model.View, name string, updated model.Time, render func([]byte) ([]byte, error)) httpx.Rendered {
	return httpx.Rendered{
		Type:         MediaType,
		ETag:         fmt.Sprintf("%s-%s-%d-%d-%d-%d", name, v.Set.Token(), v.Epoch.Number, v.Revision, v.Published.Number, rendering),
		LastModified: max(updated, v.Published.Until, described(v)),
		Caching:      httpx.Moving,
		Render:       render,
	}
}

// described is when what a document says about the set, or its URLs, changed
// last.
func described(v *model.View) model.Time {
	return max(v.Set.Created, v.Set.Modified, v.Epoch.Began)
}
