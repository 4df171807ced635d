package wellknown

import (
	"context"
	"fmt"

	"github.com/gin-gonic/gin"

	"gateway/model"
	"gateway/resourcesync"
)

// robotsSets is how many sets robots.txt names one by one at most.
const robotsSets = 1000

// robots lets everybody in and names the Resource List of each set
// (ResourceSync 1.1 §6.3.4), or sitemap.xml when they are many.
func (h *Handler) robots(c *gin.Context) {
	d, err := h.robotsText(c.Request.Context())
	answer(c, "text/plain; charset=utf-8", d, err)
}

func (h *Handler) robotsText(ctx context.Context) (document, error) {
	d, err := h.begin(ctx)
	if err != nil {
		return d, err
	}
	d.b = append(d.b, "User-agent: *\nDisallow:\n"...)
	head, sets := len(d.b), 0
	for v, err := range h.sets(ctx) {
		if err != nil {
			return d, fmt.Errorf("make robots.txt: %w", err)
		}
		d.saw(v)
		if !v.Set.Policy.Offers(model.CapabilityResourceList) {
			continue
		}
		if sets++; sets > robotsSets {
			d.b = d.appendSitemapLine(d.b[:head], sitemapPath)
			break
		}
		d.b = d.appendSitemapLine(d.b, resourcesync.ResourceListPath(v.Set.Name))
	}
	return d, nil
}

func (d *document) appendSitemapLine(b []byte, path string) []byte {
	b = append(b, "Sitemap: "...)
	b = append(b, d.base...)
	b = append(b, path...)
	return append(b, '\n')
}
