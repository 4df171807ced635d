package httpx

import (
	"context"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"gateway/model"
)

// Ranged is a body that is made from any byte on: a package, of which no copy is
// kept.
type Ranged struct {
	Type         string
	ETag         string     // opaque, without quotes, the same for the same bytes only
	LastModified model.Time // 0: none
	Caching      Caching
	Size         int64
	// WriteRange writes the length bytes at offset to w. It fails unless it wrote
	// all of them, and gives up when ctx ends or w fails.
	WriteRange func(ctx context.Context, w io.Writer, offset, length int64) error
}

// ServeRanged answers with r, whole or in ranges, in no content coding: what is
// packed gains nothing from another one.
func ServeRanged(c *gin.Context, r Ranged) {
	p := representation{
		validators: validators{etag: etag(r.ETag, identity), modified: lastModified(r.LastModified.Time(), around(c).now(), r.Caching)},
		mediaType:  r.Type, coding: identity, caching: r.Caching, ranged: true, length: r.Size,
	}
	p.announce(c.Writer.Header())
	if p.settled(c) {
		return
	}
	if bodyless(c.Request) {
		begin(c, http.StatusOK, p.length)
		return
	}
	plan, status, n, ok := p.arrange(c)
	if !ok {
		return
	}
	begin(c, status, n)
	for i, s := range plan.spans {
		if plan.parts != nil {
			text(c, plan.parts.headings[i])
		}
		if err := r.WriteRange(c.Request.Context(), c.Writer, s.start, s.length()); err != nil {
			abort(c, err)
		}
	}
	if plan.parts != nil {
		text(c, plan.parts.closing)
	}
}
