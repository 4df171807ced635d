package httpx

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/zstd"

	"gateway/model"
)

// keptFile is kept content that begins somewhere in a file.
type keptFile struct {
	*io.SectionReader
	file   *os.File
	offset int64
}

func (k keptFile) File() (*os.File, int64) { return k.file, k.offset }
func (k keptFile) Close() error            { return k.file.Close() }

// onDisk keeps b in a file, from offset on.
func onDisk(t testing.TB, b []byte, offset int64) func(context.Context) (model.Kept, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(path, append(bytes.Repeat([]byte{'?'}, int(offset)), b...), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(context.Context) (model.Kept, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		return keptFile{io.NewSectionReader(f, offset, int64(len(b))), f, offset}, nil
	}
}

func zstandardOf(t testing.TB, text []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(text, nil)
}

// A body is the same whether the kernel copies it from a file or we read it, in
// every coding, whole and in ranges.
func TestFromFileAndFromMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{10, 50_000, 300_000} {
		for _, deflated := range []bool{false, true} {
			text := digits(size)
			s, shelf := variants(t, text, deflated)
			memory := serving(t, s)
			s.Open = onDisk(t, shelf.bytes, 1234)
			server := httptest.NewServer(NewServer(serving(t, s), slog.New(slog.DiscardHandler), Timeouts{}).Handler)
			for _, accept := range []string{"identity", "gzip", "zstd"} {
				whole := ask(memory, "GET", "/doc", "Accept-Encoding", accept)
				if body := content(t, whole); deflated && accept != "identity" &&
					(decoded(t, accept, body) != string(text) || whole.Header.Get("Content-Encoding") != accept) {
					t.Errorf("%d bytes in %s: %v", size, accept, whole.Header)
				}
				n := whole.ContentLength
				ranges := []string{"bytes=0-", "bytes=-7", "bytes=3-12,15-", fmt.Sprintf("bytes=5-%d", n-5)}
				for range 5 {
					ranges = append(ranges, fmt.Sprintf("bytes=%d-%d", random.Int64N(n/2+1), n/2+random.Int64N(n/2+1)))
				}
				for _, r := range append(ranges, "") {
					same(t, memory, server.URL, "Accept-Encoding", accept, "Range", r)
				}
			}
			server.Close()
		}
	}
}

// variants is a stored document with a zstd frame when it is deflated.
func variants(t testing.TB, text []byte, deflated bool) (Stored, *shelf) {
	c, shelf := store(text, deflated)
	s := Stored{Type: "text/plain", Content: c, LastModified: model.TimeOf(noon.Add(-time.Hour)), Caching: Immutable, Open: shelf.open}
	if deflated {
		frame := zstandardOf(t, text)
		s.Zstd = int64(len(frame))
		shelf.bytes = append(shelf.bytes, frame...)
	}
	return s, shelf
}

// same asks a handler and a server for /doc and compares their answers.
func same(t *testing.T, memory http.Handler, server string, header ...string) {
	t.Helper()
	want, got := ask(memory, "GET", "/doc", header...), get(t, server+"/doc", header...)
	wantBody, gotBody := content(t, want), content(t, got)
	got.Header.Del("Date")
	if boundary := regexp.MustCompile("[A-Z2-7]{26}"); strings.HasPrefix(want.Header.Get("Content-Type"), "multipart/") {
		for _, r := range []*http.Response{want, got} {
			r.Header.Set("Content-Type", "multipart/byteranges")
		}
		wantBody, gotBody = boundary.ReplaceAllString(wantBody, ""), boundary.ReplaceAllString(gotBody, "")
	}
	if got.StatusCode != want.StatusCode || gotBody != wantBody || !headersEqual(got.Header, want.Header) {
		t.Errorf("%v: %d with %d bytes and %v, want %d with %d and %v", header,
			got.StatusCode, len(gotBody), got.Header, want.StatusCode, len(wantBody), want.Header)
	}
}

func get(t testing.TB, url string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := http.Transport{DisableKeepAlives: true}
	res, err := client.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// What the kernel copies is in the access log too.
func TestBytesOfAFileAreLogged(t *testing.T) {
	s, shelf := variants(t, digits(200_000), true)
	s.Open = onDisk(t, shelf.bytes, 0)
	var access bytes.Buffer
	e := New(slog.New(slog.DiscardHandler), slog.New(slog.NewTextHandler(&access, nil)))
	GET(e, "/doc", func(c *gin.Context) { ServeStored(c, s) })
	server := httptest.NewServer(NewServer(e, slog.New(slog.DiscardHandler), Timeouts{}).Handler)
	res := get(t, server.URL+"/doc", "Accept-Encoding", "gzip")
	body := content(t, res)
	server.Close() // the line follows the answer
	if want := fmt.Sprintf("bytes=%d ", len(body)); len(body) < byFile || !strings.Contains(access.String(), want) {
		t.Errorf("%q lacks %q", access.String(), want)
	}
}

// A file that ends early breaks the connection, and the log says so.
func TestAFileThatEndsEarly(t *testing.T) {
	s, shelf := variants(t, digits(200_000), true)
	s.Open = func(ctx context.Context) (model.Kept, error) {
		k, err := onDisk(t, shelf.bytes, 0)(ctx)
		if err != nil {
			return nil, err
		}
		f, _ := k.(keptFile).File()
		return k, os.Truncate(f.Name(), s.Content.Stored-1)
	}
	var log bytes.Buffer
	e := engine(t, &log)
	GET(e, "/doc", func(c *gin.Context) { ServeStored(c, s) })
	server := httptest.NewServer(NewServer(e, slog.New(slog.DiscardHandler), Timeouts{}).Handler)
	res := get(t, server.URL+"/doc", "Accept-Encoding", "gzip")
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("the client saw a clean answer")
	}
	server.Close()
	if !strings.Contains(log.String(), "body broke") {
		t.Errorf("log: %s", log.String())
	}
}
