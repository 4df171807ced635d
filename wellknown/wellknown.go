// Package wellknown serves what leads strangers to the sets: the ResourceSync
// Source Description, robots.txt and sitemap.xml. What holds:
//
//   - Each names every public set, whatever their number: beyond what one
//     document may hold, the Source Description becomes an index of Source
//     Descriptions and robots.txt names sitemap.xml only. sitemap.xml alone is
//     cut, to the newest lists.
//   - A document is a function of the sets as they are read, page by page; no
//     more than the document itself and a page is held in memory.
//   - Entity tags are digests of the bytes, so these documents, which hardly
//     change, stay the same for those who ask again.
//
// A client that follows links from the Source Description reaches every
// document of every set ([resourcesync] has them).
package wellknown

import (
	"context"
	"fmt"
	"iter"

	"github.com/gin-gonic/gin"

	"gateway/internal/httpx"
	"gateway/model"
	"gateway/resourcesync"
)

// Source is what the handler shows.
type Source interface {
	// Views returns up to limit public sets whose names come after the given
	// one, by name.
	Views(ctx context.Context, after string, limit int) ([]model.View, error)
	// BaseURL is where the store is published, without trailing slash.
	BaseURL(ctx context.Context) (string, error)
}

// Handler serves the documents.
type Handler struct {
	source Source
	limits model.Limits
}

// New is a handler that shows source in documents of at most the given limits.
func New(source Source, limits model.Limits) *Handler {
	return &Handler{source: source, limits: limits.WithDefaults()}
}

// Register adds the routes of h to r.
func (h *Handler) Register(r gin.IRoutes) {
	httpx.GET(r, resourcesync.SourceDescriptionPath, h.description)
	httpx.GET(r, resourcesync.SourceDescriptionPath+"/:part", h.descriptionPart)
	httpx.GET(r, "/robots.txt", h.robots)
	httpx.GET(r, sitemapPath, h.sitemap)
}

// document is a document being made from the sets.
type document struct {
	base     string
	b        []byte
	modified model.Time // when the newest of what it says was changed
}

func (h *Handler) begin(ctx context.Context) (document, error) {
	base, err := h.source.BaseURL(ctx)
	return document{base: base}, err
}

// saw counts a set's description and place into the time of the document.
func (d *document) saw(v *model.View) {
	d.modified = max(d.modified, v.Set.Created, v.Set.Modified, v.Epoch.Began)
}

// answer sends d, or the error that came instead of it.
func answer(c *gin.Context, mediaType string, d document, err error) {
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	httpx.ServeRendered(c, httpx.Rendered{
		Type: mediaType, LastModified: d.modified,
		Render: func(b []byte) ([]byte, error) { return append(b, d.b...), nil },
	})
}

// page is how many sets are read at a time.
const page = 1000

// sets yields the public sets by name. The pointer is valid until the next step.
func (h *Handler) sets(ctx context.Context) iter.Seq2[*model.View, error] {
	return func(yield func(*model.View, error) bool) {
		after := ""
		for {
			views, err := h.source.Views(ctx, after, page)
			if err != nil {
				yield(nil, fmt.Errorf("read sets after %q: %w", after, err))
				return
			}
			for i := range views {
				if !yield(&views[i], nil) {
					return
				}
				after = views[i].Set.Name
			}
			if len(views) < page {
				return
			}
		}
	}
}
