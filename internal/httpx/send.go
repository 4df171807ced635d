package httpx

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"
)

// chunk is how much of a body is in memory per request.
const chunk = 64 << 10

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// representation is what is known of an answer before its body is read.
type representation struct {
	validators
	mediaType string
	coding    string
	caching   Caching
	ranged    bool  // parts of it can be asked for (RFC 9110 §14)
	length    int64 // of the body in its coding
}

// announce says what the answer will be. A representation that could come in
// another coding says so even when it does not.
func (p *representation) announce(h http.Header) {
	h["Content-Type"] = []string{p.mediaType}
	h["Cache-Control"] = []string{p.caching.header()}
	h["Etag"] = []string{p.etag}
	AddVary(h, "Accept-Encoding")
	if p.coding != identity {
		h["Content-Encoding"] = []string{p.coding}
	}
	if !p.modified.IsZero() {
		h["Last-Modified"] = []string{p.modified.Format(http.TimeFormat)}
	}
	if p.ranged {
		h["Accept-Ranges"] = []string{"bytes"}
	}
}

// settled answers a request whose precondition decides it.
func (p *representation) settled(c *gin.Context) bool {
	switch condition(c.Request, p.validators) {
	case http.StatusNotModified:
		// RFC 9110 §15.4.5: validators and caching, and nothing about a content
		// that is not sent.
		h := c.Writer.Header()
		for _, name := range []string{"Accept-Ranges", "Content-Encoding", "Content-Language", "Content-Type", "Last-Modified"} {
			delete(h, name)
		}
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return true
	case http.StatusPreconditionFailed:
		Fail(c, problem(ProblemPrecondition))
		return true
	}
	return false
}

// begin sends status and headers of an answer of n bytes.
func begin(c *gin.Context, status int, n int64) {
	c.Writer.Header()["Content-Length"] = []string{strconv.FormatInt(n, 10)}
	c.Status(status)
	c.Writer.WriteHeaderNow()
}

// plan is which parts of a body are sent, and what comes between them.
type plan struct {
	spans []span
	parts *byteranges // nil: one span
}

// arrange decides between the whole (200), parts (206) and, with ok false, a 416
// that it has answered.
func (p *representation) arrange(c *gin.Context) (_ plan, status int, n int64, ok bool) {
	whole := plan{spans: []span{{0, p.length}}}
	if !p.ranged || !sameRange(c.Request, p.validators) {
		return whole, http.StatusOK, p.length, true
	}
	spans, ok := spansOf(c.Request, p.length)
	h := c.Writer.Header()
	switch {
	case !ok:
		outside := problem(ProblemRange)
		outside.Detail = fmt.Sprintf("the body has %d bytes", p.length)
		outside.contentRange = "bytes */" + strconv.FormatInt(p.length, 10)
		Fail(c, outside)
		return plan{}, 0, 0, false
	case len(spans) == 0:
		return whole, http.StatusOK, p.length, true
	case len(spans) == 1:
		h.Set("Content-Range", spans[0].contentRange(p.length))
		return plan{spans: spans}, http.StatusPartialContent, spans[0].length(), true
	}
	m := newByteranges(spans, p.mediaType, p.length)
	if total := m.length(); total < p.length {
		h.Set("Content-Type", "multipart/byteranges; boundary="+m.boundary)
		return plan{spans: spans, parts: m}, http.StatusPartialContent, total, true
	}
	return whole, http.StatusOK, p.length, true
}

// send writes what the plan says. A body that cannot be read to its end aborts
// the connection, because the status is sent already; the mistake is logged. A
// client that went away is no mistake.
func send(c *gin.Context, b body, p plan) {
	var at int64
	for i, s := range p.spans {
		if p.parts != nil {
			text(c, p.parts.headings[i])
		}
		err := b.skip(c.Request.Context(), s.start-at)
		if f, ok := b.(*framed); ok && err == nil && f.file != nil && s.length() >= byFile {
			err = sendFile(c, f, s.length())
		} else if err == nil {
			err = sendRead(c, b, s.length())
		}
		if err != nil {
			abort(c, err)
		}
		at = s.end
	}
	if p.parts != nil {
		text(c, p.parts.closing)
	}
}

// sendBytes writes what the plan says of a body in memory.
func sendBytes(c *gin.Context, b []byte, p plan) {
	for i, s := range p.spans {
		if p.parts != nil {
			text(c, p.parts.headings[i])
		}
		if _, err := c.Writer.Write(b[s.start:s.end]); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	if p.parts != nil {
		text(c, p.parts.closing)
	}
}

// sendRead writes the next n bytes of b through a buffer.
func sendRead(c *gin.Context, b body, n int64) error {
	buf := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buf)
	for n > 0 {
		part := buf[:min(n, chunk)]
		if _, err := io.ReadFull(b, part); err != nil {
			return err
		}
		if _, err := c.Writer.Write(part); err != nil {
			panic(http.ErrAbortHandler)
		}
		n -= int64(len(part))
	}
	return nil
}

// byFile is from how many bytes on the kernel copies a file to the connection:
// fewer are sooner read and written together with the headers.
const byFile = 32 << 10

// sendFile writes the next n bytes of f, those that lie in its file without
// touching them.
func sendFile(c *gin.Context, f *framed, n int64) error {
	if at := int64(len(f.head)) - f.at; at > 0 {
		if err := sendRead(c, f, min(at, n)); err != nil {
			return err
		}
		n -= min(at, n)
	}
	if offset, length := f.inFile(n); length > 0 {
		sent, err := copyFile(c.Writer, f.file, offset, length)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if sent < length {
			return io.ErrUnexpectedEOF
		}
		f.at += sent
		n -= sent
	}
	return sendRead(c, f, n)
}

func text(c *gin.Context, s string) {
	if _, err := c.Writer.WriteString(s); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// abort breaks the connection over a body that cannot be read.
func abort(c *gin.Context, err error) {
	if ctx := c.Request.Context(); ctx.Err() == nil {
		around(c).log.LogAttrs(context.WithoutCancel(ctx), slog.LevelError, "body broke",
			slog.String("method", c.Request.Method), slog.String("path", c.Request.URL.Path), slog.Any("error", err))
	}
	panic(http.ErrAbortHandler)
}
