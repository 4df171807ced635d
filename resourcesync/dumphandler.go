package resourcesync

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/gin-gonic/gin"

	"gateway/dump"
	"gateway/internal/httpx"
	"gateway/model"
	"gateway/sitemap"
)

// resourceDump depends on nothing but the snapshot, so its entity tag is known
// before the packages are looked up.
func (h *Handler) resourceDump(c *gin.Context) {
	v, err := h.offered(c, ParseResourceDumpPath, resourceDump)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	h.serveResourceDump(c, &v, httpx.Moving, func(packages []model.Package, b []byte) ([]byte, error) {
		return appendResourceDump(b, &v, packages, h.limits.Entries), nil
	})
}

func (h *Handler) serveResourceDump(c *gin.Context, v *model.View, caching httpx.Caching,
	render func(packages []model.Package, b []byte) ([]byte, error)) {
	httpx.ServeRendered(c, httpx.Rendered{
		Type: sitemap.MediaType, LastModified: listModified(v, &v.Snapshot), Caching: caching,
		ETag: fmt.Sprintf("rs-dump-%s-%d-%d-%d", v.Set.Token(), v.Epoch.Number, v.Snapshot.Number, version),
		Render: func(b []byte) ([]byte, error) {
			packages, err := resourceDumpPackages(c.Request.Context(), h.source, v)
			if err != nil {
				return b, err
			}
			return render(packages, b)
		},
	})
}

// resourceDumpFile serves a package, its manifest, or a part of the dump.
func (h *Handler) resourceDumpFile(c *gin.Context) {
	path := c.Request.URL.Path
	if g, number, err := ParseDumpPartPath(path); err == nil {
		h.resourceDumpPart(c, g, number)
		return
	}
	name, err := ParseResourcePackagePath(path)
	serve := h.servePackage
	if err != nil {
		name, err = ParseResourceManifestPath(path)
		serve = h.serveSealed
	}
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	ctx := c.Request.Context()
	v, err := h.view(ctx, name.Set, name.Epoch)
	if err == nil {
		err = h.orExpired(ctx, &v, name.Generation, serve(c, &v, path))
	}
	if err != nil {
		httpx.Fail(c, err)
	}
}

// resourceDumpPart serves a part of the newest Resource Dump; those of earlier
// ones are not linked from anywhere any more.
func (h *Handler) resourceDumpPart(c *gin.Context, g Generation, number int) {
	ctx := c.Request.Context()
	v, err := h.view(ctx, g.Set, g.Epoch)
	switch {
	case err != nil:
	case g.Snapshot < v.Snapshot.Number:
		err = fmt.Errorf("resource dump %d of set %s was replaced: %w", g.Snapshot, g.Set, model.ErrGone)
	case g.Snapshot > v.Snapshot.Number:
		err = fmt.Errorf("resource dump %d of set %s: %w", g.Snapshot, g.Set, model.ErrNotFound)
	}
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	h.serveResourceDump(c, &v, httpx.Immutable, func(packages []model.Package, b []byte) ([]byte, error) {
		packages = partOf(packages, number, h.limits.Entries)
		if len(packages) == 0 {
			return b, fmt.Errorf("part %d of resource dump %d of set %s: %w", number, g.Snapshot, g.Set, model.ErrNotFound)
		}
		return appendResourceDumpPart(b, &v, packages, true), nil
	})
}

// changeDump changes with each published segment.
func (h *Handler) changeDump(c *gin.Context) {
	v, err := h.offered(c, ParseChangeDumpPath, changeDump)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	h.serveChangeDump(c, &v, func(packages []dumped, b []byte) ([]byte, error) {
		return appendChangeDump(b, &v, packages, h.limits.Entries), nil
	})
}

func (h *Handler) serveChangeDump(c *gin.Context, v *model.View, render func(packages []dumped, b []byte) ([]byte, error)) {
	_, from := openSince(v)
	httpx.ServeRendered(c, httpx.Rendered{
		Type: sitemap.MediaType, LastModified: max(from, v.Epoch.Began),
		Render: func(b []byte) ([]byte, error) {
			packages, err := changeDumpPackages(c.Request.Context(), h.source, v, h.limits.IndexSegments)
			if err != nil {
				return b, fmt.Errorf("render change dump of set %s: %w", v.Set.Name, err)
			}
			return render(packages, b)
		},
	})
}

// changeDumpFile serves the package of a segment, its manifest, or a part of the
// dump.
func (h *Handler) changeDumpFile(c *gin.Context) {
	path := c.Request.URL.Path
	if part, err := ParseChangeDumpPartPath(path); err == nil {
		h.changeDumpPart(c, part)
		return
	}
	name, err := ParseChangePackagePath(path)
	serve := h.servePackage
	if err != nil {
		name, err = ParseChangeManifestPath(path)
		serve = h.serveSealed
	}
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	v, err := h.view(c.Request.Context(), name.Set, name.Epoch)
	switch {
	case err != nil:
	case name.Segment > v.Published.Number:
		err = fmt.Errorf("change dump package %d of set %s: %w", name.Segment, name.Set, model.ErrNotFound)
	default:
		err = serve(c, &v, path)
	}
	if err != nil {
		httpx.Fail(c, err)
	}
}

func (h *Handler) changeDumpPart(c *gin.Context, part ChangeDumpPart) {
	v, err := h.view(c.Request.Context(), part.Set, part.Epoch)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	h.serveChangeDump(c, &v, func(packages []dumped, b []byte) ([]byte, error) {
		packages = blockIn(packages, part.Number, h.limits.Entries)
		if len(packages) == 0 {
			return b, fmt.Errorf("part %d of the change dump of set %s: %w", part.Number, part.Set, model.ErrNotFound)
		}
		return appendChangeDumpPart(b, &v, packages, h.limits.Entries, part.Number), nil
	})
}

// servePackage answers with the package at path, of which nothing exists but its
// manifest until it is read.
func (h *Handler) servePackage(c *gin.Context, v *model.View, path string) error {
	p, err := h.source.Package(c.Request.Context(), v.Set.ID, path)
	if err != nil {
		return err
	}
	httpx.ServeRanged(c, httpx.Ranged{
		Type: dump.MediaType, ETag: hex.EncodeToString(p.Digest[:]), LastModified: p.LastModified, Caching: httpx.Immutable, Size: p.Size,
		WriteRange: func(ctx context.Context, w io.Writer, off, n int64) error {
			return h.shelf.write(ctx, w, v, &p, off, n)
		},
	})
	return nil
}

// offered is the view for the moving document at the request's path, which is
// there only while the set's policy offers its capability.
func (h *Handler) offered(c *gin.Context, parse func(path string) (set string, err error), token string) (model.View, error) {
	v, err := h.moving(c, parse)
	if err == nil && !v.Set.Policy.Offers(token) {
		err = fmt.Errorf("set %s offers no %s: %w", v.Set.Name, token, model.ErrNotFound)
	}
	return v, err
}

// orExpired makes err an [model.ErrGone] when what was not found was of a
// generation that has expired.
func (h *Handler) orExpired(ctx context.Context, v *model.View, g Generation, err error) error {
	if errors.Is(err, model.ErrNotFound) && h.expired(ctx, v, g) {
		return fmt.Errorf("snapshot %d of set %s has expired: %w", g.Snapshot, g.Set, model.ErrGone)
	}
	return err
}
