package wellknown_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"gateway/internal/httpx"
	"gateway/model"
	"gateway/model/modeltest"
	"gateway/resourcesync"
	"gateway/sitemap/sitemaptest"
	"gateway/wellknown"
)

const base = "https://repo.example.org/gw"

var update = flag.Bool("update", false, "write the golden files")

// source holds public sets by name.
type source struct {
	views []model.View
	fails bool
	pages int
}

func (s *source) Views(_ context.Context, after string, limit int) ([]model.View, error) {
	if s.fails {
		return nil, errors.New("the database is away")
	}
	s.pages++
	i, _ := slices.BinarySearchFunc(s.views, after, func(v model.View, name string) int { return strings.Compare(v.Set.Name, name) })
	if i < len(s.views) && s.views[i].Set.Name == after {
		i++
	}
	return s.views[i:min(i+limit, len(s.views))], nil
}

func (s *source) BaseURL(context.Context) (string, error) { return base, nil }

// setsNamed are n sets, each a second older than the one before it.
func setsNamed(n int) *source {
	s := &source{}
	for i := range n {
		v := modeltest.New(fmt.Sprintf("s%05d", i), base).View(0, 0)
		v.Set.Created += model.Time(n-i) * 1_000_000
		v.Snapshot.At = v.Set.Created
		s.views = append(s.views, v)
	}
	return s
}

// parts gives the set at i a Resource List of several parts.
func (s *source) parts(i, parts int) *source {
	s.views[i].Snapshot = model.Snapshot{Number: 7, Epoch: 1, Parts: parts, At: modeltest.Start + 1_000_000_000}
	return s
}

func ask(s *source, limits model.Limits, path string) *httptest.ResponseRecorder {
	gin.SetMode(gin.TestMode)
	quiet := slog.New(slog.DiscardHandler)
	r := httpx.New(quiet, quiet)
	wellknown.New(s, limits).Register(r)
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer
}

func get(t *testing.T, s *source, limits model.Limits, path string) []byte {
	t.Helper()
	answer := ask(s, limits, path)
	if answer.Code != http.StatusOK {
		t.Fatalf("GET %s: %d\n%s", path, answer.Code, answer.Body)
	}
	if answer.Header().Get("ETag") == "" {
		t.Errorf("GET %s: no entity tag", path)
	}
	return answer.Body.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func locs(entries []sitemaptest.Entry) []string {
	var uris []string
	for _, e := range entries {
		uris = append(uris, e.URI())
	}
	return uris
}

func TestSourceDescription(t *testing.T) {
	s := setsNamed(3)
	s.views[1].Set.DescribedBy = "https://example.org/about?a=1&b=2"
	var d *sitemaptest.Document
	t.Run("RS-DISC-01 at the well-known place", func(t *testing.T) {
		b := get(t, s, model.Limits{}, "/.well-known/resourcesync")
		golden(t, "description.golden.xml", b)
		d = sitemaptest.Check(t, b)
		t.Run("RS-DOC-09 valid by the schema", func(t *testing.T) { sitemaptest.Validate(t, b) })
	})
	t.Run("RS-DESC-01 RS-TIME-03 a urlset of capability description", func(t *testing.T) {
		if d.Index() || d.MD[0] != (sitemaptest.MD{Capability: "description"}) {
			t.Errorf("%+v", d)
		}
	})
	t.Run("RS-DESC-02 RS-DESC-03 RS-DOC-12 each Capability List, with its capability, without lastmod", func(t *testing.T) {
		want := []string{base + "/rs/s00000/capabilitylist.xml", base + "/rs/s00001/capabilitylist.xml", base + "/rs/s00002/capabilitylist.xml"}
		if diff := cmp.Diff(want, locs(d.URLs)); diff != "" {
			t.Error(diff)
		}
		for _, e := range d.URLs {
			if e.About() != (sitemaptest.MD{Capability: "capabilitylist"}) || e.LastMod != "" {
				t.Errorf("%+v", e)
			}
		}
	})
	t.Run("RS-NAV-04 describedby of the source and of each set", func(t *testing.T) {
		got := []string{d.Link("describedby")}
		for _, e := range d.URLs {
			got = append(got, e.Link("describedby"))
		}
		want := []string{base + "/", base + "/sets/s00000", "https://example.org/about?a=1&b=2", base + "/sets/s00002"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("RS-NAV-03 where up ends", func(t *testing.T) {
		if d.Link("up") != "" || resourcesync.SourceDescriptionPath != "/.well-known/resourcesync" {
			t.Errorf("%+v", d.Links)
		}
	})
	t.Run("without sets", func(t *testing.T) {
		d := sitemaptest.Check(t, get(t, &source{}, model.Limits{}, "/.well-known/resourcesync"))
		if d.Index() || len(d.URLs) != 0 {
			t.Errorf("%+v", d)
		}
	})
}

func TestSourceDescriptionIndex(t *testing.T) {
	limits := model.Limits{Entries: 4}
	for sets, parts := range map[int]int{4: 0, 5: 2, 8: 2, 9: 3} {
		t.Run(fmt.Sprintf("RS-DESC-04 RS-DOC-07 %d sets, 4 a document", sets), func(t *testing.T) {
			s := setsNamed(sets)
			b := get(t, s, limits, "/.well-known/resourcesync")
			d := sitemaptest.Check(t, b)
			if d.Index() != (parts > 0) || len(d.Parts) != parts {
				t.Fatalf("index %v of %d parts", d.Index(), len(d.Parts))
			}
			documents := [][]byte{b}
			var found []string
			for _, part := range d.Parts {
				b := get(t, s, limits, strings.TrimPrefix(part.URI(), base))
				d := sitemaptest.Check(t, b)
				documents = append(documents, b)
				if d.Index() || d.MD[0].Capability != "description" || len(d.URLs) > limits.Entries {
					t.Errorf("%+v", d)
				}
				if d.Link("index") != base+"/.well-known/resourcesync" || d.Link("describedby") != base+"/" {
					t.Errorf("RS-NAV-02 %+v", d.Links)
				}
				found = append(found, locs(d.URLs)...)
			}
			if parts > 0 && (len(found) != sets || !slices.IsSorted(found) || len(slices.Compact(found)) != sets) {
				t.Errorf("parts describe %v", found)
			}
			t.Run("RS-DOC-09 valid by the schema", func(t *testing.T) { sitemaptest.Validate(t, documents...) })
		})
	}
	for _, path := range []string{"/4", "/0", "/01", "/x", "/9223372036854775807", "/99999999999999999999", "/1.xml"} {
		if got := ask(setsNamed(9), limits, "/.well-known/resourcesync"+path).Code; got != http.StatusNotFound {
			t.Errorf("part %s: %d", path, got)
		}
	}
}

// More sets than are read at a time.
func TestManySets(t *testing.T) {
	s := setsNamed(2001)
	d := sitemaptest.Check(t, get(t, s, model.Limits{}, "/.well-known/resourcesync"))
	if len(d.URLs) != 2001 || s.pages != 3 {
		t.Errorf("%d sets in %d pages", len(d.URLs), s.pages)
	}
	s.pages = 0
	d = sitemaptest.Check(t, get(t, s, model.Limits{Entries: 500}, wellknown.PartPath(1)))
	if len(d.URLs) != 500 || s.pages != 1 {
		t.Errorf("the first part has %d sets, found in %d pages", len(d.URLs), s.pages)
	}
}

func TestRobots(t *testing.T) {
	t.Run("RS-DISC-04 a line per Resource List", func(t *testing.T) {
		s := setsNamed(3).parts(1, 5)
		s.views[2].Set.Policy.Capabilities = []string{model.CapabilityChangeList}
		golden(t, "robots.golden.txt", get(t, s, model.Limits{}, "/robots.txt"))
		if got := ask(s, model.Limits{}, "/robots.txt").Header().Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("Content-Type %q", got)
		}
	})
	for sets, lines := range map[int]int{1000: 1000, 1001: 1} {
		t.Run(fmt.Sprintf("RS-DISC-04 %d sets", sets), func(t *testing.T) {
			text := string(get(t, setsNamed(sets), model.Limits{}, "/robots.txt"))
			if got := strings.Count(text, "\nSitemap: https://"); got != lines {
				t.Errorf("%d lines", got)
			}
			if many := lines == 1; many != strings.Contains(text, "\nSitemap: "+base+"/sitemap.xml\n") {
				t.Errorf("%s", text)
			}
		})
	}
}

func TestSitemap(t *testing.T) {
	s := setsNamed(3).parts(1, 3)
	s.views[0].Snapshot.Parts = 1
	b := get(t, s, model.Limits{}, "/sitemap.xml")
	golden(t, "sitemap.golden.xml", b)
	t.Run("valid by the schema", func(t *testing.T) { sitemaptest.Validate(t, b) })
	parse := func(s *source, limits model.Limits) *sitemaptest.Document {
		d, err := sitemaptest.Parse(get(t, s, limits, "/sitemap.xml"))
		if err != nil {
			t.Fatal(err)
		}
		if !d.Index() || len(d.MD)+len(d.Links) > 0 {
			t.Errorf("not a plain index: %+v", d)
		}
		return d
	}
	t.Run("every list, no index", func(t *testing.T) {
		part := func(n int) string {
			return base + resourcesync.Generation{Set: "s00001", Epoch: 1, Snapshot: 7}.PartPath(n)
		}
		want := []string{part(1), part(2), part(3), base + "/rs/s00000/resourcelist.xml", base + "/rs/s00002/resourcelist.xml"}
		if diff := cmp.Diff(want, locs(parse(s, model.Limits{}).Parts)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("the newest, when there are too many", func(t *testing.T) {
		d := parse(setsNamed(40).parts(30, 2), model.Limits{Entries: 5})
		var got []string
		for _, l := range locs(d.Parts) {
			got = append(got, strings.Split(strings.TrimPrefix(l, base), "/")[2])
		}
		if diff := cmp.Diff([]string{"s00030", "s00030", "s00000", "s00001", "s00002"}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("only of sets that offer one", func(t *testing.T) {
		s := setsNamed(2)
		s.views[0].Set.Policy.Capabilities = nil
		if got := locs(parse(s, model.Limits{}).Parts); !slices.Equal(got, []string{base + "/rs/s00001/resourcelist.xml"}) {
			t.Errorf("%v", got)
		}
	})
}

func TestValidators(t *testing.T) {
	paths := []string{"/.well-known/resourcesync", "/.well-known/resourcesync/1", "/robots.txt", "/sitemap.xml"}
	s := setsNamed(3)
	for _, path := range paths {
		first := ask(s, model.Limits{}, path)
		want := s.views[0].Set.Created.Time().Format(http.TimeFormat)
		if got := first.Header().Get("Last-Modified"); got != want {
			t.Errorf("%s: Last-Modified %q, want %q", path, got, want)
		}
		if got := ask(s, model.Limits{}, path).Header().Get("ETag"); got != first.Header().Get("ETag") {
			t.Errorf("%s: the tag changed from %s to %s", path, first.Header().Get("ETag"), got)
		}
		other := setsNamed(4)
		if got := ask(other, model.Limits{}, path).Header().Get("ETag"); got == first.Header().Get("ETag") {
			t.Errorf("%s: the same tag for other sets", path)
		}
	}
	s.views[2].Set.Modified = modeltest.Start + 60_000_000
	s.views[1].Epoch.Began = modeltest.Start + 70_000_000
	for _, path := range paths {
		want := s.views[1].Epoch.Began.Time().Format(http.TimeFormat)
		if got := ask(s, model.Limits{}, path).Header().Get("Last-Modified"); got != want {
			t.Errorf("%s: Last-Modified %q, want %q", path, got, want)
		}
	}
	s.fails = true
	for _, path := range paths {
		if got := ask(s, model.Limits{}, path).Code; got != http.StatusInternalServerError {
			t.Errorf("%s: %d without a database", path, got)
		}
	}
}

func FuzzPartPath(f *testing.F) {
	for _, path := range []string{wellknown.PartPath(1), wellknown.PartPath(120), "/.well-known/resourcesync/01", "/.well-known/resourcesync", ""} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		n, err := wellknown.ParsePartPath(path)
		if err == nil && wellknown.PartPath(n) != path {
			t.Errorf("%q was read as %d", path, n)
		}
		if err != nil && !errors.Is(err, model.ErrNotFound) {
			t.Errorf("%q: %v", path, err)
		}
	})
}
