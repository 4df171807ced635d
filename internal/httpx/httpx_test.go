package httpx

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"gateway/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kept is content in memory; it knows whether it is open.
type kept struct {
	*bytes.Reader
	closed *bool
}

func (k kept) Close() error {
	*k.closed = true
	return nil
}

// shelf is one content and how often it was opened.
type shelf struct {
	bytes   []byte // in kept form
	opened  int
	closed  bool
	failing error
}

func (s *shelf) open(context.Context) (model.Kept, error) {
	s.opened++
	if s.failing != nil {
		return nil, s.failing
	}
	return kept{bytes.NewReader(s.bytes), &s.closed}, nil
}

func store(text []byte, deflated bool) (model.Content, *shelf) {
	c := model.Content{Length: int64(len(text)), SHA256: sha256.Sum256(text), CRC32: crc32.ChecksumIEEE(text), Deflated: deflated}
	stored := text
	if deflated {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, flate.DefaultCompression)
		_, _ = w.Write(text)
		_ = w.Close()
		stored = b.Bytes()
	}
	c.Stored = int64(len(stored))
	return c, &shelf{bytes: stored}
}

// noon is when tests happen unless they say otherwise.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 500_000_000, time.UTC)

func engine(t testing.TB, log io.Writer) *gin.Engine {
	t.Helper()
	return New(slog.New(slog.NewTextHandler(log, nil)), slog.New(slog.DiscardHandler), WithClock(func() time.Time { return noon }))
}

// serving is an engine that answers /doc with s.
func serving(t testing.TB, s Stored) *gin.Engine {
	e := engine(t, io.Discard)
	GET(e, "/doc", func(c *gin.Context) { ServeStored(c, s) })
	return e
}

func request(method, path string, header ...string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func ask(h http.Handler, method, path string, header ...string) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(method, path, header...))
	return w.Result()
}

func content(t testing.TB, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func gunzip(t testing.TB, s string) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader([]byte(s)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func decoded(t testing.TB, coding, s string) string {
	t.Helper()
	if coding == gzipped {
		return gunzip(t, s)
	}
	r, err := zstd.NewReader(bytes.NewReader([]byte(s)), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20)) // RFC 9659
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var errDisk = errors.New("disk on fire")
