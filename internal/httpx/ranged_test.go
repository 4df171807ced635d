package httpx

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gateway/model"
)

func ranged(text []byte) Ranged {
	return Ranged{
		Type: "application/zip", ETag: "package-1", LastModified: model.TimeOf(noon.Add(-time.Hour)), Caching: Immutable, Size: int64(len(text)),
		WriteRange: func(_ context.Context, w io.Writer, offset, length int64) error {
			_, err := w.Write(text[offset : offset+length])
			return err
		},
	}
}

func TestRanged(t *testing.T) {
	const text = "0123456789"
	e := engine(t, io.Discard)
	GET(e, "/p.zip", func(c *gin.Context) { ServeRanged(c, ranged([]byte(text))) })
	for _, row := range []struct {
		method string
		header []string
		status int
		body   string
		length int
	}{
		{"GET", nil, 200, text, 10},
		{"GET", []string{"Accept-Encoding", "gzip, zstd"}, 200, text, 10},
		{"HEAD", nil, 200, "", 10},
		{"GET", []string{"Range", "bytes=2-4"}, 206, "234", 3},
		{"GET", []string{"Range", "bytes=7-"}, 206, "789", 3},
		{"GET", []string{"Range", "bytes=-2"}, 206, "89", 2},
		{"GET", []string{"Range", "bytes=2-4", "If-Range", `"package-1"`}, 206, "234", 3},
		{"GET", []string{"Range", "bytes=2-4", "If-Range", `"package-2"`}, 200, text, 10},
		{"HEAD", []string{"Range", "bytes=2-4"}, 200, "", 10},
		{"GET", []string{"If-None-Match", `"package-1"`}, 304, "", 0},
		{"GET", []string{"If-Match", `"package-2"`}, 412, "", 0},
		{"GET", []string{"Range", "bytes=10-"}, 416, "", 0},
	} {
		t.Run(fmt.Sprint(row.method, row.header), func(t *testing.T) {
			res := ask(e, row.method, "/p.zip", row.header...)
			body := content(t, res)
			if res.StatusCode != row.status || res.StatusCode < 300 && body != row.body {
				t.Fatalf("%d %q, want %d %q", res.StatusCode, body, row.status, row.body)
			}
			if res.StatusCode >= 300 {
				return
			}
			for name, want := range map[string]string{
				"Content-Type": "application/zip", "Etag": `"package-1"`, "Accept-Ranges": "bytes", "Content-Encoding": "",
				"Cache-Control": "public, max-age=31536000, immutable", "Last-Modified": "Sun, 01 Mar 2026 11:00:00 GMT",
				"Content-Length": fmt.Sprint(row.length),
			} {
				if got := res.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestSeveralRangesOfAPackage(t *testing.T) {
	text := digits(1000)
	e := engine(t, io.Discard)
	GET(e, "/p.zip", func(c *gin.Context) { ServeRanged(c, ranged(text)) })
	res := ask(e, "GET", "/p.zip", "Range", "bytes=1-3,900-")
	body := content(t, res)
	for _, want := range []string{string(text[1:4]), string(text[900:]), "Content-Range: bytes 1-3/1000", "Content-Range: bytes 900-999/1000"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q lacks %q", body, want)
		}
	}
	if res.StatusCode != http.StatusPartialContent || res.ContentLength != int64(len(body)) {
		t.Errorf("%d, %d bytes of %d", res.StatusCode, res.ContentLength, len(body))
	}
}

// A package that breaks, or claims to be written and is not, breaks the
// connection, and the log has the cause; a client that leaves is no cause.
func TestAPackageThatBreaks(t *testing.T) {
	text := digits(1 << 20)
	for name, cut := range map[string]func(w io.Writer) error{
		"an error":  func(w io.Writer) error { _, _ = w.Write(text[:1000]); return errDisk },
		"too short": func(w io.Writer) error { _, err := w.Write(text[:1000]); return err },
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			e := engine(t, &log)
			GET(e, "/p.zip", func(c *gin.Context) {
				r := ranged(text)
				r.WriteRange = func(_ context.Context, w io.Writer, _, _ int64) error { return cut(w) }
				ServeRanged(c, r)
			})
			if err := fetch(t, e, "/p.zip"); err == nil {
				t.Error("the client saw a clean answer")
			}
			if !strings.Contains(log.String(), "body broke") {
				t.Errorf("log: %s", log.String())
			}
		})
	}
	t.Run("a client that stalls", func(t *testing.T) {
		var log bytes.Buffer
		ended := make(chan error, 1)
		e := engine(t, &log)
		GET(e, "/p.zip", func(c *gin.Context) {
			r := ranged(nil)
			r.Size = 1 << 40
			r.WriteRange = func(_ context.Context, w io.Writer, _, _ int64) error {
				for {
					if _, err := w.Write(text); err != nil {
						ended <- err
						return err
					}
				}
			}
			ServeRanged(c, r)
		})
		s := NewServer(e, slog.New(slog.DiscardHandler), Timeouts{Stall: 20 * time.Millisecond})
		dial(t, serve(t, s), "GET /p.zip HTTP/1.1\r\nHost: x\r\n\r\n") // and never reads
		<-ended
		if log.Len() > 0 {
			t.Errorf("log: %s", log.String())
		}
	})
}

func TestTransfersAreBounded(t *testing.T) {
	text := digits(1000)
	sealed, _ := variants(t, text, true)
	hosted := sealed
	hosted.Caching = Resource
	e := New(slog.New(slog.DiscardHandler), slog.New(slog.DiscardHandler), WithTransfers(1))
	GET(e, "/sealed", func(c *gin.Context) { ServeStored(c, sealed) })
	GET(e, "/hosted", func(c *gin.Context) { ServeStored(c, hosted) })
	GET(e, "/package", func(c *gin.Context) { ServeRanged(c, ranged(text)) })
	GET(e, "/moving", func(c *gin.Context) {
		ServeRendered(c, Rendered{Type: "text/plain", ETag: "x", Render: func(b []byte) ([]byte, error) { return append(b, text...), nil }})
	})
	GET(e, "/slow", func(c *gin.Context) {
		r := ranged(text)
		r.WriteRange = func(_ context.Context, w io.Writer, _, _ int64) error {
			for path, want := range map[string]int{"/sealed": 200, "/hosted": 503, "/package": 503, "/moving": 503} {
				res := ask(e, "GET", path)
				if res.StatusCode != want || (want == 503) != (res.Header.Get("Retry-After") != "") {
					t.Errorf("%s during a transfer: %d %v", path, res.StatusCode, res.Header)
				}
				if res := ask(e, "HEAD", path); path != "/moving" && res.StatusCode != 200 {
					t.Errorf("HEAD %s during a transfer: %d", path, res.StatusCode)
				}
			}
			_, err := w.Write(text)
			return err
		}
		ServeRanged(c, r)
	})
	for range 2 {
		if res := ask(e, "GET", "/slow"); res.StatusCode != 200 || content(t, res) != string(text) {
			t.Errorf("%d", res.StatusCode)
		}
	}
	for _, path := range []string{"/sealed", "/hosted", "/package", "/moving"} {
		if res := ask(e, "GET", path); res.StatusCode != 200 {
			t.Errorf("%s after the transfer: %d", path, res.StatusCode)
		}
	}
}

// Documents made on request stay within their budget, but one alone may be any
// size.
func TestHeldDocumentsAreBounded(t *testing.T) {
	text := digits(1000)
	e := New(slog.New(slog.DiscardHandler), slog.New(slog.DiscardHandler), func(s *surroundings) { s.transfers.maxHeld = 999 })
	serve := func(c *gin.Context) {
		ServeRendered(c, Rendered{Type: "text/plain", ETag: "x", Render: func(b []byte) ([]byte, error) { return append(b, text...), nil }})
	}
	GET(e, "/moving", serve)
	w := &asking{ResponseRecorder: httptest.NewRecorder(), ask: func() int { return ask(e, "GET", "/moving").StatusCode }}
	e.ServeHTTP(w, request("GET", "/moving"))
	if w.Code != 200 || w.status != 503 {
		t.Errorf("alone %d, beside another %d", w.Code, w.status)
	}
	if res := ask(e, "GET", "/moving"); res.StatusCode != 200 {
		t.Errorf("afterwards %d", res.StatusCode)
	}
}

// asking is a response that asks something while its body is written.
type asking struct {
	*httptest.ResponseRecorder
	ask    func() int
	status int
}

func (a *asking) Write(p []byte) (int, error) {
	a.status = a.ask()
	return a.ResponseRecorder.Write(p)
}

// halting is a connection on which every second step of a file ends by the
// deadline.
type halting struct {
	*paced
	steps []int64
}

func (h *halting) FlushError() error { return nil }

func (h *halting) ReadFrom(src io.Reader) (int64, error) {
	n, _ := io.CopyN(io.Discard, src, h.steps[0])
	h.steps = h.steps[1:]
	h.events = append(h.events, fmt.Sprintf("%d bytes of the file", n))
	return n, fmt.Errorf("sendfile: %w", os.ErrDeadlineExceeded)
}

// A file goes on after a step's deadline as long as each step moved it.
func TestAFileHasTimeAsLongAsItMoves(t *testing.T) {
	w := &halting{paced: &paced{clock: noon}, steps: []int64{10, 1, 0, 99}}
	h := cutOffStalled(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n, err := w.(io.ReaderFrom).ReadFrom(bytes.NewReader(make([]byte, 100))); n != 11 || err == nil {
			t.Errorf("%d %v", n, err)
		}
	}), time.Minute, w.now)
	h.ServeHTTP(w, request("GET", "/"))
	got := strings.Join(w.events, ", ")
	want := "until 1h1m0s, until 2h1m0s, 10 bytes of the file, until 3h1m0s, 1 bytes of the file, until 4h1m0s, 0 bytes of the file, until 5h1m0s"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
