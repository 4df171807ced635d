package resourcesync_test

import (
	"net/http"
	"strings"
	"testing"

	"gateway/model"
	"gateway/resourcesync"
)

func TestStatus(t *testing.T) {
	w := riverWorld(t)
	w.takeSnapshot(5, w.At(5).Time)
	old := resourcesync.Generation{Set: "rivers", Epoch: 1, Snapshot: 1}
	kept := old.PartPath(2)
	expire := func() {
		for path := range w.documents {
			if g, _, err := resourcesync.ParsePartPath(path); err == nil && g == old || path == old.IndexPath() {
				delete(w.documents, path)
			}
		}
	}
	for _, test := range []struct {
		name, path string
		before     func()
		want       int
	}{
		{"a set that does not exist", "/rs/lakes/changelist.xml", nil, 404},
		{"a set that does not exist, sealed", "/rs/lakes/1/changelist/1.xml", nil, 404},
		{"a name that is none", "/rs/Rivers!/changelist.xml", nil, 404},
		{"another document", "/rs/rivers/nothing.xml", nil, 404},
		{"closed", "/rs/rivers/1/changelist/4.xml", nil, 200},
		{"open", "/rs/rivers/1/changelist/5.xml", nil, 200},
		{"after the open one", "/rs/rivers/1/changelist/6.xml", nil, 404},
		{"list 0", "/rs/rivers/1/changelist/0.xml", nil, 404},
		{"a number with a leading zero", "/rs/rivers/1/changelist/01.xml", nil, 404},
		{"no number", "/rs/rivers/1/changelist/x.xml", nil, 404},
		{"no suffix", "/rs/rivers/1/changelist/1", nil, 404},
		{"the next epoch", "/rs/rivers/2/changelist/1.xml", nil, 404},
		{"an earlier generation", kept, nil, 200},
		{"a part that never was", old.PartPath(99), nil, 404},
		{"a generation to come", resourcesync.Generation{Set: "rivers", Epoch: 1, Snapshot: 9}.PartPath(1), nil, 404},
		{"an expired part", kept, expire, 410},
		{"an expired index", old.IndexPath(), nil, 410},
		{"newest list", "/rs/rivers/resourcelist.xml", nil, 200},
		{"the newest list was replaced a moment ago", "/rs/rivers/resourcelist.xml", func() { w.snapshot.Number++ }, 503},
		{"not ready", "/rs/rivers/capabilitylist.xml", func() { w.notReady = true }, 503},
		{"not ready, index", "/rs/rivers/changelist.xml", nil, 503},
		{"not ready, list", "/rs/rivers/resourcelist.xml", nil, 503},
		{"not ready, open", "/rs/rivers/1/changelist/5.xml", nil, 503},
		{"not ready, sealed", "/rs/rivers/1/changelist/1.xml", nil, 200},
		{"an epoch that is over", "/rs/rivers/1/changelist/1.xml", func() { w.Epoch.Number = 2 }, 410},
		{"a generation of an epoch that is over", kept, nil, 410},
	} {
		if test.before != nil {
			test.before()
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			answer := w.ask(method, test.path)
			if answer.Code != test.want {
				t.Errorf("%s: %s %s is %d, want %d", test.name, method, test.path, answer.Code, test.want)
			}
			if answer.Code == 503 && answer.Header().Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", test.name)
			}
		}
	}
}

func TestDelivery(t *testing.T) {
	w := riverWorld(t)
	for _, test := range []struct {
		path      string
		immutable bool
	}{
		{resourcesync.CapabilityListPath("rivers"), false},
		{resourcesync.ResourceListPath("rivers"), false},
		{resourcesync.ChangeListIndexPath("rivers"), false},
		{"/rs/rivers/1/changelist/5.xml", false},
		{"/rs/rivers/1/changelist/1.xml", true},
		{"/rs/rivers/1/resourcelist/1/1.xml", true},
		{"/rs/rivers/1/resourcelist/1/index.xml", true},
	} {
		get := w.ask(http.MethodGet, test.path)
		if got := strings.Contains(get.Header().Get("Cache-Control"), "immutable"); got != test.immutable {
			t.Errorf("%s: Cache-Control %q", test.path, get.Header().Get("Cache-Control"))
		}
		tag := get.Header().Get("ETag")
		if tag == "" || get.Header().Get("Last-Modified") == "" || get.Header().Get("Content-Length") == "" {
			t.Errorf("%s: %v", test.path, get.Header())
		}
		if again := w.ask(http.MethodGet, test.path, "If-None-Match", tag); again.Code != http.StatusNotModified {
			t.Errorf("%s: %d for its own entity tag", test.path, again.Code)
		}
	}
}

// A moving document's Last-Modified is the time of the newest thing in it.
func TestLastModified(t *testing.T) {
	w := riverWorld(t)
	paths := []string{resourcesync.CapabilityListPath("rivers"), resourcesync.ResourceListPath("rivers"),
		resourcesync.ChangeListIndexPath("rivers"), "/rs/rivers/1/changelist/5.xml"}
	check := func(what string, want ...model.Time) {
		t.Helper()
		for i, path := range paths {
			if got := w.ask(http.MethodHead, path).Header().Get("Last-Modified"); got != want[i].Time().Format(http.TimeFormat) {
				t.Errorf("%s: Last-Modified of %s is %s, want %v", what, path, got, want[i])
			}
		}
	}
	at, from := w.snapshot.At, w.Cut()[3].Until
	check("at first", w.Set.Created, at, from, from)

	later := at + 100_000_000
	w.Clock = later
	w.Commit(model.Record{Identifier: "urn:example:4", Deleted: true})
	w.show(w.Head(), w.published)
	check("a change", w.Set.Created, at, from, later)

	w.Set.Modified = later + 1_000_000
	check("a description", w.Set.Modified, at, from, later)

	w.Epoch.Began = later + 2_000_000
	w.takeSnapshot(w.Head(), at)
	check("an epoch", w.Epoch.Began, w.Epoch.Began, w.Epoch.Began, w.Epoch.Began)

	// The boundary after a change in the last microsecond of a second.
	w.Clock = (later/1_000_000+10)*1_000_000 - 1
	w.Commit(model.Record{Identifier: "urn:example:3", Deleted: true})
	w.Seal()
	w.showAll()
	paths[3] = "/rs/rivers/1/changelist/6.xml"
	check("a segment", w.Epoch.Began, w.Epoch.Began, w.Clock+1, w.Clock+1)
}

func TestTagOfAnotherStore(t *testing.T) {
	w := riverWorld(t)
	first := w.Set.FeedID
	for _, path := range []string{resourcesync.ChangeListIndexPath("rivers"), "/rs/rivers/1/changelist/5.xml"} {
		w.Set.FeedID = first
		tag := w.ask(http.MethodHead, path).Header().Get("ETag")
		w.Set.FeedID = "urn:uuid:5f0c2c3e-90a5-4a0c-9f5f-3f2d3a1b7c11"
		if again := w.ask(http.MethodHead, path).Header().Get("ETag"); tag == "" || again == tag {
			t.Errorf("%s: a set created anew has %s again", path, tag)
		}
	}
}

// What polls for changes gets 304 as long as there are none for it.
func TestEntityTags(t *testing.T) {
	w := riverWorld(t)
	tags := func() (list [4]string) {
		for i, path := range []string{resourcesync.CapabilityListPath("rivers"), resourcesync.ChangeListIndexPath("rivers"),
			"/rs/rivers/1/changelist/5.xml", resourcesync.ResourceListPath("rivers")} {
			w.get(path)
			list[i] = w.ask(http.MethodHead, path).Header().Get("ETag")
		}
		return list
	}
	changed := func(before, after [4]string) (list [4]bool) {
		for i := range before {
			list[i] = before[i] != after[i]
		}
		return list
	}
	last := tags()
	for _, step := range []struct {
		name string
		do   func()
		want [4]bool // capability list, index, open or closed list 5, resource list
	}{
		{"nothing", func() {}, [4]bool{}},
		{"a change", func() {
			w.Commit(model.Record{Identifier: "urn:example:9", State: model.State{Resources: []model.Resource{
				w.text(model.Representation, "dc.xml", "application/xml", "")}}})
			w.show(w.Head(), w.published)
		}, [4]bool{2: true}},
		{"a snapshot", func() { w.takeSnapshot(w.Head(), w.view().Head.Time) }, [4]bool{3: true}},
		{"a segment published", func() { w.Seal(); w.showAll() }, [4]bool{1: true, 2: true}},
		{"another description", func() { w.Set.DescribedBy = "https://example.org/about" }, [4]bool{0: true}},
	} {
		step.do()
		next := tags()
		if got := changed(last, next); got != step.want {
			t.Errorf("%s changed the tags %v, want %v", step.name, got, step.want)
		}
		last = next
	}
}

func TestDiscovery(t *testing.T) {
	w := riverWorld(t)
	list := base + resourcesync.CapabilityListPath("rivers")
	t.Run("RS-DISC-02 HTML link line", func(t *testing.T) {
		if got := resourcesync.LinkElement(base, "rivers"); got != `<link rel="resourcesync" href="`+list+`"/>` {
			t.Error(got)
		}
		if got := resourcesync.LinkElement("https://x.example/a&b", "rivers"); !strings.Contains(got, `"https://x.example/a&amp;b/rs/`) {
			t.Error(got)
		}
	})
	t.Run("RS-DISC-03 Link header", func(t *testing.T) {
		if got := resourcesync.LinkHeader(base, "rivers"); got != "<"+list+`>; rel="resourcesync"` {
			t.Error(got)
		}
	})
	t.Run("RS-DISC-05 inside documents the relation is up", func(t *testing.T) {
		for path, d := range w.walk() {
			if d.Link("up") == "" || d.Link("resourcesync") != "" {
				t.Errorf("%s: %+v", path, d.Links)
			}
		}
	})
}
