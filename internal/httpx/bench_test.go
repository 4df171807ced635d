package httpx

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gateway/model"
)

// document is one of 100 KB, sealed, as gzip, in memory: what is measured is the
// way through this package.
func document(b *testing.B) (Stored, []byte) {
	c, shelf := store(digits(175_000), true)
	shelf.closed = true
	s := Stored{Type: "application/atom+xml", Content: c, LastModified: model.TimeOf(noon.Add(-time.Hour)), Caching: Immutable, Open: shelf.open}
	framed, err := io.ReadAll(newGzip(bytes.NewReader(shelf.bytes), &c))
	if err != nil {
		b.Fatal(err)
	}
	if len(framed) < 90_000 || len(framed) > 110_000 {
		b.Fatalf("the document has %d bytes as gzip", len(framed))
	}
	return s, framed
}

// digits is text of n bytes that deflates to half.
func digits(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return b
}

func gatewayOf(b *testing.B, s Stored) http.Handler {
	e := New(slog.New(slog.DiscardHandler), slog.New(slog.NewJSONHandler(io.Discard, nil)), WithClock(func() time.Time { return noon }))
	GET(e, "/doc/:name", func(c *gin.Context) { ServeStored(c, s) })
	return NewServer(UnderBase(e, func() []string { return []string{"/repo"} }), slog.New(slog.DiscardHandler), Timeouts{}).Handler
}

// against measures h over loopback, and bare in the same run, request by request
// in turns; "×bare" is how many times the requests of bare h takes.
func against(b *testing.B, h, bare http.Handler, status int, header ...string) {
	ours, theirs := httptest.NewServer(h), httptest.NewServer(bare)
	defer ours.Close()
	defer theirs.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	buf := make([]byte, 64<<10)
	get := func(base string) time.Duration {
		r, err := http.NewRequestWithContext(context.Background(), "GET", base+"/repo/doc/a%20b", nil)
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		began := time.Now()
		res, err := client.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{res.Body}, buf); err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != status {
			b.Fatalf("status %d", res.StatusCode)
		}
		return time.Since(began)
	}
	var sumOurs, sumTheirs time.Duration
	for b.Loop() {
		sumOurs += get(ours.URL)
		sumTheirs += get(theirs.URL)
	}
	b.ReportMetric(float64(sumOurs.Nanoseconds())/float64(b.N), "ns/req")
	b.ReportMetric(float64(sumTheirs.Nanoseconds())/float64(b.N), "bare-ns/req")
	b.ReportMetric(float64(sumOurs)/float64(sumTheirs), "×bare")
}

func BenchmarkSealed100KB(b *testing.B) {
	s, framed := document(b)
	against(b, gatewayOf(b, s), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/atom+xml")
		h.Set("Content-Encoding", "gzip")
		h.Set("Etag", `"x"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(framed))
	}), http.StatusOK, "Accept-Encoding", "gzip")
}

func BenchmarkNotModified(b *testing.B) {
	s, _ := document(b)
	tag := etag(s.name(), gzipped)
	against(b, gatewayOf(b, s), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Etag", tag)
		h.Set("Cache-Control", Immutable.header())
		w.WriteHeader(http.StatusNotModified)
	}), http.StatusNotModified, "Accept-Encoding", "gzip", "If-None-Match", tag)
}

// BenchmarkHandler is the way through the engine without any network.
func BenchmarkHandler(b *testing.B) {
	s, _ := document(b)
	h := gatewayOf(b, s)
	for name, header := range map[string][]string{
		"sealed 100 KB": {"Accept-Encoding", "gzip"},
		"inflated":      {},
		"304":           {"If-None-Match", etag(s.name(), identity)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := request("GET", "/repo/doc/a", header...)
			w := &nowhere{header: http.Header{}}
			for b.Loop() {
				clear(w.header)
				h.ServeHTTP(w, r)
			}
		})
	}
}

// nowhere takes an answer and forgets it.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header              { return w.header }
func (w *nowhere) WriteHeader(int)                  {}
func (w *nowhere) Write(p []byte) (int, error)      { return len(p), nil }
func (w *nowhere) SetWriteDeadline(time.Time) error { return nil }

func BenchmarkRendered100KB(b *testing.B) {
	text := sample(100_000)
	for _, accept := range []string{"identity", "gzip"} {
		b.Run(accept, func(b *testing.B) {
			e := engine(b, io.Discard)
			GET(e, "/doc", func(c *gin.Context) {
				ServeRendered(c, Rendered{ETag: "x", Render: func(b []byte) ([]byte, error) { return append(b, text...), nil }})
			})
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			r := request("GET", "/doc", "Accept-Encoding", accept)
			w := &nowhere{header: http.Header{}}
			for b.Loop() {
				e.ServeHTTP(w, r)
			}
		})
	}
}
