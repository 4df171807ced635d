package resourcesync

import (
	"context"
	"errors"
	"fmt"

	"github.com/gin-gonic/gin"

	"gateway/internal/httpx"
	"gateway/model"
	"gateway/sitemap"
)

// Source is what the handler shows.
type Source interface {
	model.Log
	// View is the public set of that name as the renderer has published it;
	// [model.ErrNotFound] when there is none.
	View(ctx context.Context, set, renderer string) (model.View, error)
	// Document is the stored document at path; [model.ErrNotFound] when there is
	// none.
	Document(ctx context.Context, set model.SetID, path string) (model.Document, error)
	// OpenObject opens an object, which begins with the kept bytes of a stored
	// document.
	OpenObject(ctx context.Context, key string) (model.Kept, error)
	// OpenContents opens the kept bytes of contents, joined. ctx is that of all
	// reads, and keys stay as they are until Close.
	OpenContents(ctx context.Context, set model.SetID, keys []model.ContentKey) (model.Kept, error)
	// Package is the published package at path; [model.ErrNotFound] when there
	// is none.
	Package(ctx context.Context, set model.SetID, path string) (model.Package, error)
	// SnapshotPackages are the packages of a snapshot, by the records they hold.
	SnapshotPackages(ctx context.Context, set model.SetID, epoch model.EpochNumber, n model.SnapshotNumber) ([]model.Package, error)
	// SegmentPackages are up to limit packages of segments greater than after,
	// in order.
	SegmentPackages(ctx context.Context, set model.SetID, epoch model.EpochNumber, after model.SegmentNumber, limit int) ([]model.Package, error)
	// Record is the newest change of a record, also of a deleted one.
	Record(ctx context.Context, set model.SetID, number model.RecordNumber) (*model.Change, error)
}

// Handler serves the documents of sets.
type Handler struct {
	source    Source
	limits    model.Limits
	shelf     *shelf
	selecting chan struct{} // holds a token for each selection being made or sent
}

// New is a handler that shows source.
func New(source Source, limits model.Limits) *Handler {
	return &Handler{
		source: source, limits: limits.WithDefaults(), shelf: newShelf(source),
		selecting: make(chan struct{}, selections),
	}
}

// Register adds the routes of h to r.
func (h *Handler) Register(r gin.IRoutes) {
	httpx.GET(r, "/rs/:set/capabilitylist.xml", h.capabilityList)
	httpx.GET(r, "/rs/:set/resourcelist.xml", h.resourceList)
	httpx.GET(r, "/rs/:set/resourcedump.xml", h.resourceDump)
	httpx.GET(r, "/rs/:set/changelist.xml", h.changeListIndex)
	httpx.GET(r, "/rs/:set/changedump.xml", h.changeDump)
	r.POST("/rs/:set/dump", h.selection)
	httpx.GET(r, "/rs/:set/:epoch/changelist/:list", h.changeList)
	httpx.GET(r, "/rs/:set/:epoch/changedump/:file", h.changeDumpFile)
	httpx.GET(r, "/rs/:set/:epoch/resourcelist/:snapshot/:list", h.generation)
	httpx.GET(r, "/rs/:set/:epoch/resourcedump/:snapshot/:file", h.resourceDumpFile)
}

// capabilityList has the digest of its bytes as its entity tag: it stays the
// same while records change.
func (h *Handler) capabilityList(c *gin.Context) {
	v, err := h.moving(c, ParseCapabilityListPath)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	httpx.ServeRendered(c, httpx.Rendered{
		Type: sitemap.MediaType, LastModified: max(v.Set.Created, v.Set.Modified, v.Epoch.Began),
		Render: func(b []byte) ([]byte, error) { return appendCapabilityList(b, &v), nil },
	})
}

// resourceList serves the newest Resource List, or its index, which is stored
// under a URL of its own, too.
func (h *Handler) resourceList(c *gin.Context) {
	v, err := h.moving(c, ParseResourceListPath)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	if v.Snapshot.Parts == 0 {
		httpx.ServeRendered(c, httpx.Rendered{
			Type: sitemap.MediaType, LastModified: listModified(&v, &v.Snapshot),
			Render: func(b []byte) ([]byte, error) { return appendEmptyList(b, &v), nil },
		})
		return
	}
	doc, err := h.source.Document(c.Request.Context(), v.Set.ID, newestListPath(&v))
	if errors.Is(err, model.ErrNotFound) {
		// A newer snapshot has just replaced it, and the view is a moment old.
		err = fmt.Errorf("resource list of set %s: %w", v.Set.Name, model.ErrNotReady)
	}
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	h.serve(c, &doc, httpx.Moving)
}

// changeListIndex does not depend on the open list's entries, so its entity tag
// changes with each segment, not with each change.
func (h *Handler) changeListIndex(c *gin.Context) {
	v, err := h.moving(c, ParseChangeListIndexPath)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	_, from := openSince(&v)
	httpx.ServeRendered(c, httpx.Rendered{
		Type: sitemap.MediaType, LastModified: max(from, v.Epoch.Began),
		ETag: fmt.Sprintf("rs-index-%s-%d-%d-%d", v.Set.Token(), v.Epoch.Number, v.Published.Number, version),
		Render: func(b []byte) ([]byte, error) {
			return appendChangeListIndex(c.Request.Context(), b, h.source, &v, h.limits.IndexSegments)
		},
	})
}

// changeList serves a closed list as it was sealed, and renders the open one.
func (h *Handler) changeList(c *gin.Context) {
	list, err := ParseChangeListPath(c.Request.URL.Path)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	v, err := h.view(c.Request.Context(), list.Set, list.Epoch)
	switch {
	case err != nil:
	case list.Segment <= v.Published.Number:
		err = h.serveSealed(c, &v, list.Path())
	case list.Segment == v.Open() && v.Ready:
		h.serveOpen(c, &v)
	case list.Segment == v.Open():
		err = notReady(&v)
	default:
		err = fmt.Errorf("change list %d of set %s: %w", list.Segment, list.Set, model.ErrNotFound)
	}
	if err != nil {
		httpx.Fail(c, err)
	}
}

// serveOpen renders the open list. The position it goes to says what it holds,
// because a log only grows within an epoch.
func (h *Handler) serveOpen(c *gin.Context, v *model.View) {
	last, modified := v.Shown()
	_, from := openSince(v)
	httpx.ServeRendered(c, httpx.Rendered{
		Type: sitemap.MediaType, LastModified: max(modified, from, v.Epoch.Began),
		ETag: fmt.Sprintf("rs-open-%s-%d-%d-%d-%d", v.Set.Token(), v.Epoch.Number, v.Published.Number, last, version),
		Render: func(b []byte) ([]byte, error) {
			return appendOpenList(c.Request.Context(), b, h.source, v)
		},
	})
}

// generation serves a part of a Resource List, or the index over its parts.
func (h *Handler) generation(c *gin.Context) {
	path := c.Request.URL.Path
	g, err := ParseGenerationIndexPath(path)
	if err != nil {
		g, _, err = ParsePartPath(path)
	}
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	ctx := c.Request.Context()
	v, err := h.view(ctx, g.Set, g.Epoch)
	if err == nil {
		err = h.orExpired(ctx, &v, g, h.serveSealed(c, &v, path))
	}
	if err != nil {
		httpx.Fail(c, err)
	}
}

// expired tells whether g was replaced and removed: every generation has a
// first part as long as it lives.
func (h *Handler) expired(ctx context.Context, v *model.View, g Generation) bool {
	if g.Snapshot >= v.Snapshot.Number {
		return false
	}
	_, err := h.source.Document(ctx, v.Set.ID, g.PartPath(1))
	return errors.Is(err, model.ErrNotFound)
}

// moving is the view for the moving document at the request's path.
func (h *Handler) moving(c *gin.Context, parse func(path string) (set string, err error)) (model.View, error) {
	set, err := parse(c.Request.URL.Path)
	if err != nil {
		return model.View{}, err
	}
	v, err := h.source.View(c.Request.Context(), set, Name)
	if err == nil && !v.Ready {
		err = notReady(&v)
	}
	return v, err
}

func notReady(v *model.View) error {
	return fmt.Errorf("set %s is being published anew: %w", v.Set.Name, model.ErrNotReady)
}

// view is the view for a document of an epoch, which must be the current one.
func (h *Handler) view(ctx context.Context, set string, epoch model.EpochNumber) (model.View, error) {
	v, err := h.source.View(ctx, set, Name)
	switch {
	case err != nil:
		return model.View{}, err
	case epoch < v.Epoch.Number:
		return model.View{}, fmt.Errorf("epoch %d of set %s is over: %w", epoch, set, model.ErrGone)
	case epoch > v.Epoch.Number:
		return model.View{}, fmt.Errorf("epoch %d of set %s: %w", epoch, set, model.ErrNotFound)
	}
	return v, nil
}

// serveSealed answers with the stored document at path, for good.
func (h *Handler) serveSealed(c *gin.Context, v *model.View, path string) error {
	doc, err := h.source.Document(c.Request.Context(), v.Set.ID, path)
	if err != nil {
		return err
	}
	h.serve(c, &doc, httpx.Immutable)
	return nil
}

func (h *Handler) serve(c *gin.Context, doc *model.Document, caching httpx.Caching) {
	httpx.ServeStored(c, httpx.Stored{
		Type: doc.Type, Content: doc.Content, Zstd: doc.Zstd, LastModified: doc.LastModified, Caching: caching,
		Open: func(ctx context.Context) (model.Kept, error) { return h.source.OpenObject(ctx, doc.Object) },
	})
}
