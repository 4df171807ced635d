package wellknown

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"gateway/internal/httpx"
	"gateway/model"
	"gateway/resourcesync"
	"gateway/sitemap"
)

// PartPath is where part number (1, 2, …) of the Source Description is, when
// there are more sets than one document holds.
func PartPath(number int) string {
	return resourcesync.SourceDescriptionPath + "/" + strconv.Itoa(number)
}

// ParsePartPath is the inverse of PartPath; anything else is
// [model.ErrNotFound].
func ParsePartPath(path string) (number int, err error) {
	s, ok := strings.CutPrefix(path, resourcesync.SourceDescriptionPath+"/")
	if !ok {
		return 0, model.ErrNotFound
	}
	n, err := model.ParseNumber[int64](s)
	return int(n), err
}

// description serves the Source Description (ResourceSync 1.1 §8), or the index
// over its parts.
func (h *Handler) description(c *gin.Context) {
	d, err := h.describeAll(c.Request.Context())
	answer(c, sitemap.MediaType, d, err)
}

// descriptionPart serves one part.
func (h *Handler) descriptionPart(c *gin.Context) {
	number, err := ParsePartPath(c.Request.URL.Path)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	d, err := h.describePart(c.Request.Context(), number)
	answer(c, sitemap.MediaType, d, err)
}

func (h *Handler) describeAll(ctx context.Context) (document, error) {
	d, err := h.begin(ctx)
	if err != nil {
		return d, err
	}
	d.b = sitemap.List.AppendRoot(d.b, d.root())
	sets := 0
	for v, err := range h.sets(ctx) {
		if err != nil {
			return d, fmt.Errorf("describe the source: %w", err)
		}
		d.saw(v)
		if sets++; sets <= h.limits.Entries {
			d.appendSet(&v.Set)
		}
	}
	d.b = sitemap.List.AppendEnd(d.b)
	if sets > h.limits.Entries {
		d.describeParts((sets + h.limits.Entries - 1) / h.limits.Entries)
	}
	return d, nil
}

// describeParts makes d the index over that many parts (§8).
func (d *document) describeParts(parts int) {
	d.b = sitemap.Index.AppendRoot(d.b[:0], d.root())
	for number := 1; number <= parts; number++ {
		d.b = sitemap.Index.AppendEntry(d.b, &sitemap.Entry{Loc: []byte(d.base + PartPath(number))})
	}
	d.b = sitemap.Index.AppendEnd(d.b)
}

func (h *Handler) describePart(ctx context.Context, number int) (document, error) {
	d, err := h.begin(ctx)
	if err != nil {
		return d, err
	}
	root := d.root()
	root.Links = append(root.Links, sitemap.Link{Rel: "index", Href: []byte(d.base + resourcesync.SourceDescriptionPath)})
	d.b = sitemap.List.AppendRoot(d.b, root)
	read, described := 0, 0
	for v, err := range h.sets(ctx) {
		if err != nil {
			return d, fmt.Errorf("describe part %d of the source: %w", number, err)
		}
		part := read/h.limits.Entries + 1
		read++
		if part > number {
			break
		}
		if part == number {
			described++
			d.saw(v)
			d.appendSet(&v.Set)
		}
	}
	if described == 0 {
		return d, fmt.Errorf("part %d of the source description: %w", number, model.ErrNotFound)
	}
	d.b = sitemap.List.AppendEnd(d.b)
	return d, nil
}

const capability = "description"

// root says that the source is described by the start page.
func (d *document) root() *sitemap.Root {
	return &sitemap.Root{
		Links: []sitemap.Link{{Rel: "describedby", Href: []byte(d.base + "/")}},
		MD:    sitemap.MD{Capability: capability},
	}
}

func (d *document) appendSet(s *model.Set) {
	d.b = sitemap.List.AppendEntry(d.b, &sitemap.Entry{
		Loc:   []byte(d.base + resourcesync.CapabilityListPath(s.Name)),
		MD:    sitemap.MD{Capability: "capabilitylist"},
		Links: []sitemap.Link{{Rel: "describedby", Href: []byte(resourcesync.DescribedBy(d.base, s))}},
	})
}
