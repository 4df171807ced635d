package wellknown

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gin-gonic/gin"

	"gateway/model"
	"gateway/resourcesync"
	"gateway/sitemap"
)

const sitemapPath = "/sitemap.xml"

// sitemap serves a plain index of the public lists, for search engines: the
// Resource List of a set, or the sealed parts of it, because an index may not
// name an index (sitemaps.org). Newest lists stand first; when there are more
// than an index may name, the oldest are left out: a crawler that comes back
// finds each set again after it changed.
func (h *Handler) sitemap(c *gin.Context) {
	d, err := h.siteIndex(c.Request.Context())
	answer(c, sitemap.MediaType, d, err)
}

// list is a list in sitemap.xml.
type list struct {
	at   model.Time
	path string
}

func (h *Handler) siteIndex(ctx context.Context) (document, error) {
	d, err := h.begin(ctx)
	if err != nil {
		return d, err
	}
	var lists []list
	for v, err := range h.sets(ctx) {
		if err != nil {
			return d, fmt.Errorf("make sitemap.xml: %w", err)
		}
		if !v.Set.Policy.Offers(model.CapabilityResourceList) {
			continue
		}
		d.saw(v)
		d.modified = max(d.modified, v.Snapshot.At)
		lists = appendLists(lists, v)
		if len(lists) > 2*h.limits.Entries {
			lists = newest(lists, h.limits.Entries)
		}
	}
	d.b = sitemap.Index.AppendRoot(d.b, &sitemap.Root{Plain: true})
	for _, l := range newest(lists, h.limits.Entries) {
		d.b = sitemap.Index.AppendEntry(d.b, &sitemap.Entry{Loc: []byte(d.base + l.path), LastMod: l.at.Append(nil)})
	}
	d.b = sitemap.Index.AppendEnd(d.b)
	return d, nil
}

// appendLists appends what a set has: its moving list as long as that is one
// list.
func appendLists(lists []list, v *model.View) []list {
	s := &v.Snapshot
	if s.Parts <= 1 {
		return append(lists, list{s.At, resourcesync.ResourceListPath(v.Set.Name)})
	}
	g := resourcesync.Generation{Set: v.Set.Name, Epoch: s.Epoch, Snapshot: s.Number}
	for number := 1; number <= s.Parts; number++ {
		lists = append(lists, list{s.At, g.PartPath(number)})
	}
	return lists
}

// newest are at most the given number of lists, newest first and equally old
// ones as they came.
func newest(lists []list, most int) []list {
	slices.SortStableFunc(lists, func(a, b list) int { return cmp.Compare(b.at, a.at) })
	return lists[:min(most, len(lists))]
}
