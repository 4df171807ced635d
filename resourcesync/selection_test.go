package resourcesync_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"gateway/dump"
	"gateway/model"
	"gateway/resourcesync"
	"gateway/sitemap/sitemaptest"
)

// choose asks for a package of the resources that the body names.
func (w *world) choose(query, body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	w.router.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, resourcesync.SelectionPath(w.Set.Name)+query, strings.NewReader(body)))
	return answer
}

// chosen is the package that answers the request.
func (w *world) chosen(query, body string) *archive {
	w.t.Helper()
	answer := w.choose(query, body)
	if h := answer.Header(); answer.Code != http.StatusOK || h.Get("Content-Type") != "application/zip" ||
		h.Get("Content-Length") != strconv.Itoa(answer.Body.Len()) || h.Get("Cache-Control") != "no-store" {
		w.t.Fatalf("%d %v\n%s", answer.Code, h, answer.Body)
	}
	return unpack(w.t, answer.Body.Bytes())
}

func (a *archive) uris() (uris []string) {
	for i := range a.manifest.URLs {
		uris = append(uris, a.manifest.URLs[i].URI())
	}
	return uris
}

// urisAt are all resources of the set at p.
func (w *world) urisAt(p model.Position) []string {
	return slices.Sorted(maps.Keys(w.modelAt(p)))
}

func TestSelection(t *testing.T) {
	w := riverWorld(t)
	all := w.urisAt(w.Head())
	asJSON, err := json.Marshal(all)
	w.must(err)
	for name, body := range map[string]string{
		"lines":        strings.Join(all, "\n"),
		"lines of DOS": "# a comment\r\n\r\n" + strings.Join(all, "\r\n") + "\r\n",
		"twice":        strings.Join(append(slices.Clone(all), all...), "\n"),
		"JSON":         string(asJSON),
		"JSON, spaced": "\n\t " + string(asJSON) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			a := w.chosen("", body)
			got := copyOfSet{}
			for i := range a.manifest.URLs {
				got[a.manifest.URLs[i].URI()] = resourceOf(&a.manifest.URLs[i])
			}
			if !maps.Equal(got, w.modelAt(w.Head())) || len(a.manifest.URLs) != len(all) {
				t.Errorf("%v", got)
			}
			about := a.manifest.MD[0]
			if about.Capability != "resourcedump-manifest" || about.At != w.view().Head.Time.String() || a.manifest.Link("up") != base+resourcesync.CapabilityListPath("rivers") {
				t.Errorf("%+v", a.manifest)
			}
			sitemaptest.Validate(t, unzipped(t, a.bytes, dump.ManifestName))
		})
	}
	t.Run("some", func(t *testing.T) {
		if got := w.chosen("", all[3]+"\n"+all[1]).uris(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{all[1], all[3]}) {
			t.Errorf("%v", got)
		}
	})
	t.Run("advertised in the Capability List", func(t *testing.T) {
		if got := w.parse(resourcesync.CapabilityListPath("rivers")).Link(resourcesync.SelectionRelation); got != base+resourcesync.SelectionPath("rivers") {
			t.Errorf("%q", got)
		}
	})
	t.Run("only by POST", func(t *testing.T) {
		if got := w.ask(http.MethodGet, resourcesync.SelectionPath("rivers")); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != "POST" {
			t.Errorf("%d %v", got.Code, got.Header())
		}
	})
}

func TestSelectionOfUnknown(t *testing.T) {
	w := riverWorld(t)
	here := w.urisAt(w.Head())[0]
	unknown := []string{
		base + "/r/rivers/99/oai_dc.xml",   // no such record
		base + "/r/rivers/1/record.json",   // dropped
		base + "/r/rivers/2/data.zip",      // elsewhere
		base + "/r/lakes/1/oai_dc.xml",     // of another set
		base + "/r/rivers/1/oai%5Fdc.xml",  // encoded otherwise
		"https://elsewhere.example/<&\">é", // anything
	}
	body := strings.Join(append([]string{here, unknown[0]}, unknown...), "\n")
	answer := w.choose("", body)
	var p struct {
		Type    string
		Count   int
		Unknown []string
	}
	w.must(json.Unmarshal(answer.Body.Bytes(), &p))
	if answer.Code != 422 || p.Type != "urn:gateway:problem:unknown-resources" || p.Count != len(unknown) || !slices.Equal(p.Unknown, unknown) {
		t.Errorf("%d %+v", answer.Code, p)
	}
	answer = w.choose("?unknown=skip", body)
	if got := unpack(t, answer.Body.Bytes()).uris(); answer.Header().Get("Gateway-Unknown") != strconv.Itoa(len(unknown)) || !slices.Equal(got, []string{here}) {
		t.Errorf("%v %v", answer.Header(), got)
	}
	if answer = w.choose("?unknown=skip", here); answer.Header().Get("Gateway-Unknown") != "0" {
		t.Errorf("%v", answer.Header())
	}
	var many []string
	for i := range 250 {
		many = append(many, fmt.Sprint("urn:x:", i))
	}
	w.must(json.Unmarshal(w.choose("", strings.Join(many, "\n")).Body.Bytes(), &p))
	if p.Count != 250 || !slices.Equal(p.Unknown, many[:100]) {
		t.Errorf("%+v", p)
	}
}

func TestSelectionRefused(t *testing.T) {
	w := riverWorld(t)
	here := w.urisAt(w.Head())[0]
	for _, test := range []struct {
		name, query, body string
		want              int
	}{
		{"nothing", "", "", 422},
		{"only comments", "", "# a\n\n# b", 422},
		{"an empty array", "", "[]", 422},
		{"no array", "", `["` + here + `"`, 422},
		{"an array of numbers", "", "[1]", 422},
		{"an array of nothing", "", "[null]", 422},
		{"an array and more", "", `["` + here + `"] x`, 422},
		{"two arrays", "", `["` + here + `"]["` + here + `"]`, 422},
		{"an endless line", "", strings.Repeat("x", 5000), 422},
		{"another parameter", "?unknown=maybe", here, 422},
		{"too many lines", "", strings.Repeat(here+"\n", 50_001), 413},
		{"too many in an array", "", `["` + strings.Repeat(here+`","`, 50_000) + here + `"]`, 413},
		{"too long", "", strings.Repeat("# nothing\n", 2<<20), 413},
		{"as many as there may be", "", strings.Repeat(here+"\n", 50_000), 200},
	} {
		if got := w.choose(test.query, test.body); got.Code != test.want {
			t.Errorf("%s: %d %.200s", test.name, got.Code, got.Body)
		}
	}
}

// A selection is the set at the head of the view, even when the log goes on
// meanwhile, and whether records are scanned or looked up.
func TestSelectionAtTheHead(t *testing.T) {
	w := newWorld(t, model.Limits{})
	w.Set.Policy.SegmentSize = 7
	put := func(i, version int) {
		w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), State: model.State{Resources: []model.Resource{
			w.text(model.Representation, "dc.xml", "application/xml", fmt.Sprint(i, version))}}})
	}
	for i := range 200 {
		put(i, 0)
	}
	for i := range 200 {
		if i%3 == 0 {
			put(i, 1)
		}
		if i%5 == 0 {
			w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), Deleted: true})
		}
	}
	all := make([]string, 210)
	for i := range all {
		all[i] = string(model.AppendResourceURI(nil, base, "rivers", model.RecordNumber(i+1), "dc.xml"))
	}
	var few []string
	for i := 0; i < 200; i += 20 {
		few = append(few, all[i])
	}
	for _, p := range []model.Position{100, 200, 230, w.Head()} {
		w.show(p, 0)
		for name, uris := range map[string][]string{"scan": all, "look up": few} {
			w.scans.Store(0)
			w.found = 0
			v := w.view()
			w.frozen = &v
			scans := w.scans.Load()
			a := w.chosen("?unknown=skip", strings.Join(uris, "\n"))
			if scanned := w.scans.Load() > scans; scanned != (name == "scan") || (w.found > 0) != (name == "look up") {
				t.Errorf("%s: %d scans, %d looked up", name, w.scans.Load()-scans, w.found)
			}
			w.frozen = nil
			want := copyOfSet{}
			for uri, r := range w.modelAt(p) {
				if slices.Contains(uris, uri) {
					want[uri] = r
				}
			}
			got := copyOfSet{}
			for i := range a.manifest.URLs {
				got[a.manifest.URLs[i].URI()] = resourceOf(&a.manifest.URLs[i])
			}
			if !maps.Equal(got, want) || a.manifest.MD[0].At != v.Head.Time.String() {
				t.Errorf("%s at %d: %d resources, want %d", name, p, len(got), len(want))
			}
		}
	}
}

func TestSelectionsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := bigWorldOfRecords(t)
		body := strings.Join(w.urisAt(w.Head()), "\n")
		w.gate = make(chan struct{})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				defer func() { _ = recover() }()
				w.choose("", body)
			})
		}
		synctest.Wait()
		answer := w.choose("", body)
		if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" || !bytes.Contains(answer.Body.Bytes(), []byte("urn:gateway:problem:busy")) {
			t.Errorf("%d %v %s", answer.Code, answer.Header(), answer.Body)
		}
		// Nothing comes, and after a while each gives up.
		all.Wait()
		close(w.gate)
		if answer := w.choose("", body); answer.Code != http.StatusOK {
			t.Errorf("%d %s", answer.Code, answer.Body)
		}
	})
}

// bigWorldOfRecords is a set of enough records to be scanned.
func bigWorldOfRecords(t testing.TB) *world {
	w := newWorld(t, model.Limits{})
	for i := range 40 {
		w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), State: model.State{Resources: []model.Resource{
			w.text(model.Representation, "dc.xml", "application/xml", fmt.Sprint(i))}}})
	}
	w.showAll()
	v := w.view()
	w.frozen = &v
	return w
}
