package httpx

import (
	"context"
	"encoding/hex"
	"errors"
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
	// Zstd is the length of a zstd frame (RFC 8878) of the same bytes that is kept
	// right after the content; 0 is none.
	Zstd int64
	// Open opens the kept bytes: raw DEFLATE if Content.Deflated, then the zstd
	// frame. It is called only when they are needed. Large ones leave by sendfile
	// when what it returns has the method File() (f *os.File, offset int64).
	Open func(ctx context.Context) (model.Kept, error)
}

// ServeStored answers with s. Its ETag is the SHA-256 of the identity bytes, and
// another one in each other coding.
func ServeStored(c *gin.Context, s Stored) {
	offered := offer{gzip: s.Content.Deflated, zstd: s.Zstd > 0}
	chosen, ok := coding(c.Request.Header, offered)
	p := representation{
		validators: validators{
			etag:     etag(s.name(), chosen),
			modified: lastModified(s.LastModified.Time(), around(c).now(), s.Caching), moving: s.Caching == Moving,
		},
		mediaType: s.Type, coding: chosen, caching: s.Caching, ranged: s.Caching != Moving, length: s.length(chosen),
	}
	p.announce(c.Writer.Header())
	if !ok {
		Fail(c, offered.refused())
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
	// A sealed document is small and comes from a file: no number of them is too
	// many.
	if s.Caching == Resource {
		end, err := around(c).transfers.begin()
		if err != nil {
			Fail(c, err)
			return
		}
		defer end()
	}
	hot := &around(c).hot
	if s.Caching != Resource {
		if b := hot.get(p.etag); b != nil {
			begin(c, status, n)
			sendBytes(c, b, plan)
			return
		}
	}
	kept, err := open(c.Request.Context(), &s)
	if err != nil {
		Fail(c, err)
		return
	}
	defer kept.Close()
	if s.Caching != Resource && hot.wants(p.etag, p.length) {
		s.remember(kept, chosen, p.etag, hot)
	}
	begin(c, status, n)
	b, release := s.body(kept, chosen, n == p.length && status == http.StatusOK)
	defer release()
	send(c, b, plan)
}

// remember puts s in a coding into hot, unless it cannot be read.
func (s *Stored) remember(kept model.Kept, coding, etag string, hot *hot) {
	b, release := s.body(kept, coding, true)
	defer release()
	if all, err := whole(b, s.length(coding), coding, &s.Content); err == nil {
		hot.put(etag, all)
	} // else sending it comes upon the same error
}

// length is that of s in a coding.
func (s *Stored) length(coding string) int64 {
	switch coding {
	case gzipped:
		return gzipLength(&s.Content)
	case zstandard:
		return s.Zstd
	}
	return s.Content.Length
}

// body is s in a coding. Identity bytes are summed only when all of them are
// read: of a part no sum is known.
func (s *Stored) body(kept model.Kept, coding string, whole bool) (b body, release func()) {
	switch {
	case coding == gzipped:
		return newGzip(kept, &s.Content), func() {}
	case coding == zstandard:
		return newFramed(kept, s.Content.Stored, s.Zstd), func() {}
	case s.Content.Deflated:
		b := newInflated(kept, &s.Content)
		return b, b.release
	case whole:
		return &plain{kept: kept, content: &s.Content}, func() {}
	}
	return newFramed(kept, 0, s.Content.Length), func() {}
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
	if errors.Is(err, model.ErrNotFound) || errors.Is(err, model.ErrGone) {
		// The row of the document is there, so its bytes are lost, and that is ours
		// to repair. A 404 would say that there is no such document, which a
		// harvester takes for a deletion.
		return nil, fmt.Errorf("open content %x: %v", s.Content.SHA256, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open content %x: %w", s.Content.SHA256, err)
	}
	if size, want := kept.Size(), s.Content.Stored+s.Zstd; size != want {
		kept.Close()
		return nil, fmt.Errorf("open content %x: kept %d bytes, want %d", s.Content.SHA256, size, want)
	}
	return kept, nil
}

// etag is the strong entity tag of a coding of what opaque names.
func etag(opaque, coding string) string {
	switch coding {
	case gzipped:
		return `"` + opaque + `-gz"`
	case zstandard:
		return `"` + opaque + `-zst"`
	}
	return `"` + opaque + `"`
}
