package httpx

import (
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gateway/model"
)

func TestConditions(t *testing.T) {
	c, shelf := store([]byte("0123456789"), true)
	tag := fmt.Sprintf(`"%x"`, c.SHA256)
	gzTag := fmt.Sprintf(`"%x-gz"`, c.SHA256)
	modified := noon.Add(-time.Hour)
	const before, at, after = "Sun, 01 Mar 2026 10:59:59 GMT", "Sun, 01 Mar 2026 11:00:00 GMT", "Sun, 01 Mar 2026 11:00:01 GMT"
	e := serving(t, Stored{Type: "text/plain", Content: c, LastModified: model.TimeOf(modified), Caching: Resource, Open: shelf.open})
	for _, row := range []struct {
		name   string
		header []string
		status int
	}{
		{"same tag", []string{"If-None-Match", tag}, 304},
		{"weak form of the tag", []string{"If-None-Match", "W/" + tag}, 304},
		{"tag in a list", []string{"If-None-Match", `"a,b", W/"c" ,` + tag}, 304},
		{"tag on a second line", []string{"If-None-Match", `"a"`, "If-None-Match", tag}, 304},
		{"any", []string{"If-None-Match", "*"}, 304},
		{"other tag", []string{"If-None-Match", `"a"`}, 200},
		{"tag of the other variant", []string{"If-None-Match", gzTag}, 200},
		{"tag of this variant", []string{"If-None-Match", gzTag, "Accept-Encoding", "gzip"}, 304},
		{"tag of identity under gzip", []string{"If-None-Match", tag, "Accept-Encoding", "gzip"}, 200},
		{"not modified", []string{"If-Modified-Since", at}, 304},
		{"not modified later", []string{"If-Modified-Since", after}, 304},
		{"modified", []string{"If-Modified-Since", before}, 200},
		{"not a date", []string{"If-Modified-Since", "yesterday"}, 200},
		{"If-None-Match wins over an equal date", []string{"If-None-Match", `"a"`, "If-Modified-Since", at}, 200},
		{"If-None-Match wins over an older date", []string{"If-None-Match", tag, "If-Modified-Since", before}, 304},
		{"If-Match", []string{"If-Match", tag}, 200},
		{"If-Match any", []string{"If-Match", "*"}, 200},
		{"If-Match is strong", []string{"If-Match", "W/" + tag}, 412},
		{"If-Match other", []string{"If-Match", `"a"`}, 412},
		{"unmodified", []string{"If-Unmodified-Since", at}, 200},
		{"not unmodified", []string{"If-Unmodified-Since", before}, 412},
		{"If-Match wins", []string{"If-Match", tag, "If-Unmodified-Since", before}, 200},
		{"If-Match before If-None-Match", []string{"If-Match", `"a"`, "If-None-Match", tag}, 412},
		{"range", []string{"Range", "bytes=2-3"}, 206},
		{"range of the same", []string{"Range", "bytes=2-3", "If-Range", tag}, 206},
		{"range of another", []string{"Range", "bytes=2-3", "If-Range", `"a"`}, 200},
		{"If-Range is strong", []string{"Range", "bytes=2-3", "If-Range", "W/" + tag}, 200},
		{"If-Range with its date", []string{"Range", "bytes=2-3", "If-Range", at}, 206},
		{"If-Range with a later date", []string{"Range", "bytes=2-3", "If-Range", after}, 200},
		{"range of another is not outside", []string{"Range", "bytes=20-", "If-Range", `"a"`}, 200},
		{"condition before range", []string{"Range", "bytes=2-3", "If-None-Match", tag}, 304},
	} {
		t.Run(row.name, func(t *testing.T) {
			res := ask(e, "GET", "/doc", row.header...)
			body := content(t, res)
			if res.StatusCode != row.status {
				t.Fatalf("status %d, want %d", res.StatusCode, row.status)
			}
			if row.status == 304 {
				if body != "" || res.Header.Get("Etag") == "" || res.Header.Get("Cache-Control") == "" || res.Header.Get("Vary") == "" {
					t.Errorf("304 with %q and %v", body, res.Header)
				}
				if res.Header.Get("Content-Type") != "" || res.Header.Get("Content-Length") != "" || res.Header.Get("Content-Encoding") != "" {
					t.Errorf("304 speaks of content: %v", res.Header)
				}
			}
			if n := res.Header.Get("Content-Length"); row.status != 304 && n != strconv.Itoa(len(body)) {
				t.Errorf("Content-Length %s for %d bytes", n, len(body))
			}
		})
	}
}

// TestDateOfMoving shows why a date decides nothing about a moving document: the
// next version of the same second has the same one.
func TestDateOfMoving(t *testing.T) {
	first, kept := store([]byte("first"), false)
	second, then := store([]byte("second"), false)
	s := Stored{Content: first, LastModified: model.TimeOf(noon.Add(-time.Hour)), Caching: Moving, Open: kept.open}
	e := engine(t, io.Discard)
	GET(e, "/stored", func(c *gin.Context) { ServeStored(c, s) })
	GET(e, "/rendered", func(c *gin.Context) {
		ServeRendered(c, Rendered{
			ETag: s.name(), LastModified: s.LastModified, Caching: Moving,
			Render: func(b []byte) ([]byte, error) { return append(b, "rendered"...), nil },
		})
	})
	for _, path := range []string{"/stored", "/rendered"} {
		s.Content, s.Open = first, kept.open
		res := ask(e, "GET", path)
		date := res.Header.Get("Last-Modified")
		if date == "" || ask(e, "GET", path, "If-None-Match", res.Header.Get("Etag")).StatusCode != 304 {
			t.Fatalf("%s: Last-Modified %q, %v", path, date, res.Header)
		}
		s.Content, s.Open = second, then.open
		if res := ask(e, "GET", path, "If-Modified-Since", date); res.StatusCode != 200 {
			t.Errorf("%s: %d for other bytes of the same second", path, res.StatusCode)
		}
	}
}

func TestLastModified(t *testing.T) {
	second := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name        string
		changed     time.Duration // after second
		now         time.Duration
		caching     Caching
		wantPresent bool
	}{
		{"moving within its second", 100 * time.Millisecond, 999 * time.Millisecond, Moving, false},
		{"moving once the second is over", 999 * time.Millisecond, time.Second, Moving, true},
		{"resource within its second", 0, 999 * time.Millisecond, Resource, false},
		{"immutable at once", 900 * time.Millisecond, 901 * time.Millisecond, Immutable, true},
		{"immutable, log ahead of the clock within the second", 900 * time.Millisecond, 100 * time.Millisecond, Immutable, true},
		{"immutable, log seconds ahead", 2 * time.Second, 1999 * time.Millisecond, Immutable, false},
		{"moving, log seconds ahead", 2 * time.Second, 0, Moving, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := lastModified(second.Add(row.changed), second.Add(row.now), row.caching)
			if got.IsZero() == row.wantPresent {
				t.Errorf("%v", got)
			}
			if !got.IsZero() && got.After(second.Add(row.now)) {
				t.Errorf("%v is later than Date", got)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		if got := lastModified(model.Time(0).Time(), noon, Immutable); !got.IsZero() {
			t.Errorf("%v", got)
		}
	})
}
