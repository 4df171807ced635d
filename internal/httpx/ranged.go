package httpx

import (
	"context"
	"fmt"
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
		validators: validators{etag: etag(r.ETag, identity), modified: lastModified(r.LastModified.Time(), around(c).now(), r.Caching), moving: r.Caching == Moving},
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
	end, err := around(c).transfers.begin()
	if err != nil {
		Fail(c, err)
		return
	}
	defer end()
	begin(c, status, n)
	to := &client{Writer: c.Writer}
	for i, s := range plan.spans {
		if plan.parts != nil {
			text(c, plan.parts.headings[i])
		}
		before := to.taken
		err := r.WriteRange(c.Request.Context(), to, s.start, s.length())
		if err == nil && to.taken-before != s.length() {
			err = fmt.Errorf("made %d bytes of %d", to.taken-before, s.length())
		}
		switch {
		case to.gone:
			panic(http.ErrAbortHandler)
		case err != nil:
			abort(c, fmt.Errorf("bytes %d to %d: %w", s.start, s.end-1, err))
		}
	}
	if plan.parts != nil {
		text(c, plan.parts.closing)
	}
}

// client takes a body, and knows whether it is the client that ended it.
type client struct {
	io.Writer
	taken int64
	gone  bool
}

func (w *client) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.taken += int64(n)
	w.gone = w.gone || err != nil
	return n, err
}
