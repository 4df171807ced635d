package httpx

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gateway/model"
)

func TestRanges(t *testing.T) {
	text := "0123456789"
	for _, deflated := range []bool{false, true} {
		c, shelf := store([]byte(text), deflated)
		e := serving(t, Stored{Type: "text/plain", Content: c, Caching: Resource, Open: shelf.open})
		for _, row := range []struct {
			ranges, contentRange, body string
			status                     int
		}{
			{"bytes=0-0", "bytes 0-0/10", "0", 206},
			{"bytes=2-5", "bytes 2-5/10", "2345", 206},
			{"bytes=8-", "bytes 8-9/10", "89", 206},
			{"bytes=-3", "bytes 7-9/10", "789", 206},
			{"bytes=-30", "bytes 0-9/10", text, 206},
			{"bytes=5-500", "bytes 5-9/10", "56789", 206},
			{"Bytes= 2-5", "bytes 2-5/10", "2345", 206},
			{"bytes=99999999999999999999-", "bytes */10", "", 416},
			{"bytes=10-", "bytes */10", "", 416},
			{"bytes=-0", "bytes */10", "", 416},
			{"bytes=10-,20-30", "bytes */10", "", 416},
			{"bytes=10-,1-1", "bytes 1-1/10", "1", 206},
			{"bytes=5-2", "", text, 200},
			{"bytes=a-b", "", text, 200},
			{"bytes=+1-2", "", text, 200},
			{"bytes=--1", "", text, 200},
			{"bytes=", "", text, 200},
			{"lines=1-2", "", text, 200},
			{"2-5", "", text, 200},
			{"bytes=5-6,1-2", "", text, 200},
			{"bytes=1-5,5-6", "", text, 200},
			{"bytes=0-0,2-2", "", text, 200},
		} {
			t.Run(fmt.Sprintf("%s deflated %v", row.ranges, deflated), func(t *testing.T) {
				res := ask(e, "GET", "/doc", "Range", row.ranges)
				body := content(t, res)
				if res.StatusCode != row.status || res.Header.Get("Content-Range") != row.contentRange {
					t.Errorf("%d %q", res.StatusCode, res.Header.Get("Content-Range"))
				}
				if row.status != 416 && body != row.body {
					t.Errorf("body %q", body)
				}
				if res.Header.Get("Content-Length") != strconv.Itoa(len(body)) {
					t.Errorf("Content-Length %s for %d bytes", res.Header.Get("Content-Length"), len(body))
				}
			})
		}
		t.Run("HEAD has no ranges", func(t *testing.T) {
			if res := ask(e, "HEAD", "/doc", "Range", "bytes=1-2"); res.StatusCode != 200 || res.ContentLength != 10 {
				t.Errorf("%d, %d bytes", res.StatusCode, res.ContentLength)
			}
		})
	}
	t.Run("an empty body has no ranges", func(t *testing.T) {
		c, shelf := store(nil, true)
		e := serving(t, Stored{Content: c, Caching: Resource, Open: shelf.open})
		if res := ask(e, "GET", "/doc", "Range", "bytes=0-"); res.StatusCode != 200 || content(t, res) != "" {
			t.Errorf("%d", res.StatusCode)
		}
	})
	t.Run("a moving document has no ranges", func(t *testing.T) {
		c, shelf := store([]byte(text), true)
		e := serving(t, Stored{Content: c, Caching: Moving, Open: shelf.open})
		if res := ask(e, "GET", "/doc", "Range", "bytes=2-3"); res.StatusCode != 200 || res.Header.Get("Accept-Ranges") != "" {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
	})
	t.Run("more ranges than allowed", func(t *testing.T) {
		c, shelf := store(sample(100_000), true)
		e := serving(t, Stored{Content: c, Caching: Resource, Open: shelf.open})
		var b strings.Builder
		for i := range maxRanges + 1 {
			fmt.Fprintf(&b, ",%d-%d", i*10, i*10)
		}
		if res := ask(e, "GET", "/doc", "Range", "bytes="+b.String()[1:]); res.StatusCode != 200 {
			t.Errorf("%d", res.StatusCode)
		}
	})
}

// Any ranges of any variant are the bytes of the whole at those places.
func TestPartsAreOfTheWhole(t *testing.T) {
	text := sample(80_000)
	for _, row := range []struct {
		deflated bool
		accept   string
	}{{false, ""}, {true, ""}, {true, "gzip"}} {
		c, shelf := store(text, row.deflated)
		e := serving(t, Stored{Type: "text/plain; charset=x", Content: c, Caching: Immutable, Open: shelf.open})
		whole := content(t, ask(e, "GET", "/doc", "Accept-Encoding", row.accept))
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(1, 5).Draw(t, "ranges")
			places := rapid.SliceOfNDistinct(rapid.IntRange(0, len(whole)-1), 2*n, 2*n, rapid.ID[int]).Draw(t, "places")
			slices.Sort(places)
			value := "bytes="
			for i := range n {
				value += fmt.Sprintf("%d-%d,", places[2*i], places[2*i+1])
			}
			w := httptest.NewRecorder()
			e.ServeHTTP(w, request("GET", "/doc", "Accept-Encoding", row.accept, "Range", strings.TrimSuffix(value, ",")))
			res := w.Result()
			if res.Header.Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
				t.Fatalf("Content-Length %s for %d bytes", res.Header.Get("Content-Length"), w.Body.Len())
			}
			if res.StatusCode == 200 {
				if n == 1 || w.Body.String() != whole {
					t.Fatal("200 for a range")
				}
				return
			}
			if n == 1 {
				if w.Body.String() != whole[places[0]:places[1]+1] {
					t.Fatal("wrong bytes")
				}
				return
			}
			_, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
			if err != nil {
				t.Fatal(err)
			}
			parts := multipart.NewReader(w.Body, params["boundary"])
			for i := range n {
				p, err := parts.NextPart()
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(p)
				if err != nil {
					t.Fatal(err)
				}
				from, to := places[2*i], places[2*i+1]
				if string(b) != whole[from:to+1] || p.Header.Get("Content-Type") != "text/plain; charset=x" ||
					p.Header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", from, to, len(whole)) {
					t.Fatalf("part %d: %v", i, p.Header)
				}
			}
			if _, err := parts.NextPart(); err != io.EOF {
				t.Fatalf("after the last part: %v", err)
			}
		})
	}
}

// What we answer to conditions and ranges is what net/http answers for a file,
// but for what we decided otherwise: ranges out of order, and malformed ones.
func FuzzAgainstServeContent(f *testing.F) {
	text := sample(1000)
	c, shelf := store(text, false)
	modified := noon.Add(-time.Hour)
	tag := fmt.Sprintf(`"%x"`, c.SHA256)
	f.Add("bytes=1-2", tag, `"a"`, "")
	f.Add("bytes=-5", "", "", tag)
	f.Add("bytes=5-2", "", "", modified.UTC().Format(http.TimeFormat))
	f.Add("bytes=1-2,4-5", "*", tag, "W/"+tag)
	f.Add("bytes=2000-", "", "", "")
	f.Fuzz(func(t *testing.T, ranges, match, noneMatch, ifRange string) {
		headers := []string{"Range", ranges, "If-Match", match, "If-None-Match", noneMatch, "If-Range", ifRange}
		for _, h := range headers {
			if strings.ContainsFunc(h, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }) {
				t.Skip()
			}
		}
		var given []string
		for i := 0; i < len(headers); i += 2 {
			if headers[i+1] != "" {
				given = append(given, headers[i:i+2]...)
			}
		}
		e := serving(t, Stored{Type: "text/plain", Content: c, LastModified: model.TimeOf(modified), Caching: Resource, Open: shelf.open})
		got := ask(e, "GET", "/doc", given...)
		want := ask(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", tag)
			w.Header().Set("Content-Type", "text/plain")
			http.ServeContent(w, r, "", modified, bytes.NewReader(text))
		}), "GET", "/doc", given...)
		if got.StatusCode == want.StatusCode && got.StatusCode == 206 && !strings.HasPrefix(got.Header.Get("Content-Type"), "multipart/") {
			if a, b := content(t, got), content(t, want); a != b || got.Header.Get("Content-Range") != want.Header.Get("Content-Range") {
				t.Errorf("%q %q, net/http %q %q", got.Header.Get("Content-Range"), a, want.Header.Get("Content-Range"), b)
			}
		}
		wellFormed := strings.HasPrefix(ranges, "bytes=") && !strings.Contains(ranges, ",") && !strings.HasSuffix(want.Header.Get("Content-Range"), "*/1000")
		tags := !strings.ContainsAny(match+noneMatch+ifRange, " \t") && strings.Count(match+noneMatch+ifRange, `"`)%2 == 0
		if wellFormed && tags && got.StatusCode != want.StatusCode && want.StatusCode != 416 && plainTags(match, noneMatch, ifRange) {
			t.Errorf("%v: %d, net/http %d", given, got.StatusCode, want.StatusCode)
		}
	})
}

// plainTags tells that each is "", "*", or one entity tag, or a date.
func plainTags(values ...string) bool {
	for _, v := range values {
		inner := strings.TrimPrefix(v, "W/")
		isTag := len(inner) >= 2 && inner[0] == '"' && strings.IndexByte(inner[1:], '"') == len(inner)-2
		if v != "" && v != "*" && !isTag {
			return false
		}
	}
	return true
}
