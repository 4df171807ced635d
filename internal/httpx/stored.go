package httpx

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"gateway/model"
)

// Stored is a body that is kept with its sums: a sealed document or hosted
// content.
type Stored struct {
	Type    string // Content-Type
	Content model.Content
	// Variant goes into the ETag where one URL has several representations, or
	// bytes that can get another type: equal bytes are not all of it then.
	Variant      string
	LastModified model.Time // 0: none
	Caching      Caching
	// Open opens the kept bytes: raw DEFLATE if Content.Deflated. It is called
	// only when they are needed.
	Open func(ctx context.Context) (model.Kept, error)
}

// ServeStored answers with s. Its ETag is the SHA-256 of the identity bytes, and
// another one as gzip.
func ServeStored(c *gin.Context, s Stored) {
	chosen, ok := coding(c.Request.Header, s.Content.Deflated)
	p := representation{
		validators: validators{
			etag:     etag(s.name(), chosen),
			modified: lastModified(s.LastModified.Time(), around(c).now(), s.Caching),
		},
		mediaType: s.Type, coding: chosen, caching: s.Caching, ranged: s.Caching != Moving, length: s.Content.Length,
	}
	if chosen == gzipped {
		p.length = gzipLength(&s.Content)
	}
	p.announce(c.Writer.Header())
	if !ok {
		Fail(c, NotAcceptable("no content coding that the request accepts; identity is offered", nil))
		return
	}
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
	kept, err := open(c.Request.Context(), &s)
	if err != nil {
		Fail(c, err)
		return
	}
	defer kept.Close()
	begin(c, status, n)
	switch {
	case chosen == gzipped:
		send(c, newFramed(kept, &s.Content), plan)
	case s.Content.Deflated:
		b := newInflated(kept, &s.Content)
		defer b.release()
		send(c, b, plan)
	default:
		send(c, &plain{kept: kept, content: &s.Content}, plan)
	}
}

// name is the opaque part of the ETag, the same for every coding.
func (s *Stored) name() string {
	sum := hex.EncodeToString(s.Content.SHA256[:])
	if s.Variant == "" {
		return sum
	}
	return sum + "-" + s.Variant
}

func open(ctx context.Context, s *Stored) (model.Kept, error) {
	kept, err := s.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open content %x: %w", s.Content.SHA256, err)
	}
	if kept.Size() != s.Content.Stored {
		size := kept.Size()
		kept.Close()
		return nil, fmt.Errorf("open content %x: kept %d bytes, want %d", s.Content.SHA256, size, s.Content.Stored)
	}
	return kept, nil
}

// etag is the strong entity tag of a coding of what opaque names.
func etag(opaque, coding string) string {
	if coding == gzipped {
		return `"` + opaque + `-gz"`
	}
	return `"` + opaque + `"`
}
