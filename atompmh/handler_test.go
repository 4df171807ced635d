package atompmh_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gateway/atompmh"
	"gateway/internal/httpx"
	"gateway/model"
)

// serve answers requests from source, long after everything happened.
func serve(source atompmh.Source) http.Handler {
	silent := slog.New(slog.DiscardHandler)
	later := func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) }
	e := httpx.New(silent, silent, httpx.WithClock(later))
	atompmh.New(source).Register(e)
	return e
}

// request asks h for path; headers are pairs of name and value.
func request(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// published is a world with two segments published, the first of them sealed,
// and a change after them.
func published(t *testing.T) *world { return newWorld(t, 3).fill(7).now() }

func TestDocumentsOverHTTP(t *testing.T) {
	w := published(t)
	h := serve(w)
	const moving, immutable = "public, max-age=0, must-revalidate", "public, max-age=31536000, immutable"
	for _, doc := range []struct {
		path, mediaType, caching string
		modified                 model.Time
	}{
		{"/atom", "application/atomsvc+xml", moving, w.At(7).Time},
		{"/atom/rivers", "application/atom+xml", moving, w.At(7).Time},
		{"/atom/rivers/complete", "application/atom+xml", moving, w.At(7).Time},
		{"/atom/rivers/1/archive/1", "application/atom+xml", immutable, w.Cut()[1].Until},
		{"/atom/rivers/1/archive/2", "application/atom+xml", moving, w.Cut()[1].Until},
	} {
		t.Run(doc.path, func(t *testing.T) {
			got := request(h, "GET", doc.path)
			if got.Code != http.StatusOK {
				t.Fatalf("status %d: %s", got.Code, got.Body)
			}
			head := got.Header()
			t.Run("ATOM-02 the type exactly", func(t *testing.T) {
				if head.Get("Content-Type") != doc.mediaType {
					t.Errorf("Content-Type %q", head.Get("Content-Type"))
				}
			})
			if head.Get("Cache-Control") != doc.caching {
				t.Errorf("Cache-Control %q", head.Get("Cache-Control"))
			}
			if want := doc.modified.Time().Format(http.TimeFormat); head.Get("Last-Modified") != want {
				t.Errorf("ATOM-22 Last-Modified %q, want %q", head.Get("Last-Modified"), want)
			}
			t.Run("ATOM-22 HEAD equals GET", func(t *testing.T) {
				bare := request(h, "HEAD", doc.path)
				if d := cmp.Diff(head, bare.Header()); d != "" || bare.Code != got.Code || bare.Body.Len() > 0 {
					t.Errorf("status %d, %d bytes, headers (-GET +HEAD):\n%s", bare.Code, bare.Body.Len(), d)
				}
			})
			t.Run("ATOM-22 not modified", func(t *testing.T) {
				tag := head.Get("Etag")
				if !strings.HasPrefix(tag, `"`) || len(tag) < 3 {
					t.Errorf("ETag %s", tag)
				}
				if c := request(h, "GET", doc.path, "If-None-Match", tag).Code; c != http.StatusNotModified {
					t.Errorf("If-None-Match: status %d", c)
				}
				want := http.StatusOK // two versions of a moving document can have the same date
				if strings.Contains(doc.caching, "immutable") {
					want = http.StatusNotModified
				}
				if c := request(h, "GET", doc.path, "If-Modified-Since", head.Get("Last-Modified")).Code; c != want {
					t.Errorf("If-Modified-Since: status %d, want %d", c, want)
				}
			})
			t.Run("the same in gzip", func(t *testing.T) {
				zipped := request(h, "GET", doc.path, "Accept-Encoding", "gzip")
				r, err := gzip.NewReader(zipped.Body)
				if err != nil {
					t.Fatal(err)
				}
				plain, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(plain, got.Body.Bytes()) {
					t.Errorf("%v, %d bytes instead of %d", err, len(plain), got.Body.Len())
				}
			})
			t.Run("no other method", func(t *testing.T) {
				if c := request(h, "POST", doc.path).Code; c != http.StatusMethodNotAllowed {
					t.Errorf("status %d", c)
				}
			})
		})
	}
}

func TestMissingDocuments(t *testing.T) {
	w := published(t)
	w.Epoch.Number = 2
	h := serve(w)
	for _, row := range []struct {
		name, path string
		status     int
	}{
		{"unknown set", "/atom/lakes", 404},
		{"complete feed of an unknown set", "/atom/lakes/complete", 404},
		{"archive of an unknown set", "/atom/lakes/2/archive/1", 404},
		{"archive that is not published", "/atom/rivers/2/archive/3", 404},
		{"archive of an epoch that is over", "/atom/rivers/1/archive/1", 410},
		{"archive of an epoch to come", "/atom/rivers/3/archive/1", 404},
		{"archive zero", "/atom/rivers/2/archive/0", 404},
		{"number with a leading zero", "/atom/rivers/2/archive/01", 404},
		{"number that is none", "/atom/rivers/2/archive/x", 404},
		{"number beyond all", "/atom/rivers/2/archive/99999999999999999999", 404},
		{"slash at the end", "/atom/rivers/", 404},
		{"slash in a set's name", "/atom/rivers%2Fcomplete", 404},
		{"capital letters", "/atom/Rivers", 404},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := request(h, "GET", row.path, "If-None-Match", "*")
			if got.Code != row.status || got.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("status %d, Cache-Control %q", got.Code, got.Header().Get("Cache-Control"))
			}
		})
	}
}

// TestArchiveBecomesFinal follows one archive document from before it is
// published until long after.
func TestArchiveBecomesFinal(t *testing.T) {
	const path = "/atom/rivers/1/archive/1"
	w := newWorld(t, 2).fill(5)
	h := serve(w)
	if got := request(h, "GET", path); got.Code != 404 || got.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("before it is published: status %d, Cache-Control %q", got.Code, got.Header().Get("Cache-Control"))
	}
	w.at(3, 1)
	newest := request(h, "GET", path)
	if newest.Code != 200 || strings.Contains(newest.Body.String(), "next-archive") {
		t.Errorf("ARCH-08 while it is the newest: status %d\n%s", newest.Code, newest.Body)
	}
	if want := w.Cut()[0].Until.Time().Format(http.TimeFormat); newest.Header().Get("Last-Modified") != want {
		t.Errorf("while it is the newest: Last-Modified %q, want %q", newest.Header().Get("Last-Modified"), want)
	}
	w.at(4, 2)
	sealed := request(h, "GET", path)
	if sealed.Code != 200 || !strings.Contains(sealed.Body.String(), `rel="next-archive" href="`+base+`/atom/rivers/1/archive/2"`) {
		t.Errorf("ARCH-08 sealed: status %d\n%s", sealed.Code, sealed.Body)
	}
	w.at(5, 2)
	if d := cmp.Diff(sealed.Result().Header, request(h, "GET", path).Result().Header); d != "" {
		t.Errorf("ARCH-11 sealed, later (-then +now):\n%s", d)
	}
	if c := request(h, "GET", path, "If-None-Match", newest.Header().Get("Etag")).Code; c != 200 {
		t.Errorf("sealed, to one who has it without next-archive: status %d", c)
	}
	part := request(h, "GET", path, "Range", "bytes=0-4", "If-Range", sealed.Header().Get("Etag"))
	if part.Code != 206 || part.Body.String() != "<?xml" {
		t.Errorf("a range of it sealed: status %d, %q", part.Code, part.Body)
	}
}

func TestTagOfAnotherStore(t *testing.T) {
	w := published(t)
	for _, path := range []string{"/atom/rivers", "/atom/rivers/complete", "/atom/rivers/1/archive/2"} {
		first := w.Set.FeedID
		tag := request(serve(w), "HEAD", path).Header().Get("Etag")
		w.Set.FeedID = "urn:uuid:5f0c2c3e-90a5-4a0c-9f5f-3f2d3a1b7c11"
		if again := request(serve(w), "HEAD", path).Header().Get("Etag"); tag == "" || again == tag {
			t.Errorf("%s: a set created anew has %s again", path, tag)
		}
		w.Set.FeedID = first
	}
}

// TestMovingTag expects another ETag whenever the view of a set differs.
func TestMovingTag(t *testing.T) {
	w := newWorld(t, 2).fill(6)
	h := serve(w)
	for _, path := range []string{"/atom/rivers", "/atom/rivers/complete"} {
		seen := map[string]bool{}
		w.everywhere(func() {
			tag := request(h, "HEAD", path).Header().Get("Etag")
			if seen[tag] {
				t.Errorf("%s at %d/%d has the ETag %s again", path, w.position, w.published, tag)
			}
			seen[tag] = true
		})
	}
}

func TestNotReady(t *testing.T) {
	w := published(t)
	w.notReady = true
	h := serve(w)
	for path, status := range map[string]int{
		"/atom/rivers": 503, "/atom/rivers/complete": 503, "/atom/rivers/1/archive/2": 503, "/atom/rivers/1/archive/1": 200, "/atom": 200,
	} {
		got := request(h, "GET", path)
		if got.Code != status || (status == 503) != (got.Header().Get("Retry-After") != "") {
			t.Errorf("%s: status %d, Retry-After %q", path, got.Code, got.Header().Get("Retry-After"))
		}
	}
}

// TestModified expects the time of what changed last, be it a record, the set's
// description or its base URL.
func TestModified(t *testing.T) {
	w := published(t)
	h := serve(w)
	for _, path := range []string{"/atom/rivers", "/atom/rivers/complete", "/atom/rivers/1/archive/2", "/atom"} {
		w.Set.Modified, w.Epoch.Began = 0, w.Set.Created
		for _, change := range []*model.Time{&w.Set.Modified, &w.Epoch.Began} {
			*change = w.At(7).Time + 90_000_000
			if got, want := request(h, "HEAD", path).Header().Get("Last-Modified"), change.Time().Format(http.TimeFormat); got != want {
				t.Errorf("%s: Last-Modified %q, want %q", path, got, want)
			}
			*change = 0
		}
	}
}
