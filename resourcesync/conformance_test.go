package resourcesync_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"gateway/model"
	"gateway/model/modeltest"
	"gateway/resourcesync"
	"gateway/sitemap/sitemaptest"
)

// riverWorld is a set whose documents reach every kind: three closed segments
// and an open list, a Resource List of several parts, files, profiles, an
// external file, updates, drops, a deletion, and names that need encoding.
func riverWorld(t testing.TB) *world {
	w := newWorld(t, model.Limits{Entries: 6, IndexSegments: 3})
	w.Set.Policy.SegmentSize = 3
	dc := func(content string) model.Resource {
		r := w.deflated(model.Representation, "oai_dc.xml", "application/xml", content)
		r.Profile = "http://www.openarchives.org/OAI/2.0/oai_dc/?a=1&b=2"
		return r
	}
	json := w.text(model.Representation, "record.json", "application/json; charset=utf-8", "{}")
	pdf := w.text(model.File, "thésis & <more>.pdf", "application/pdf", "%PDF-1.7")
	empty := w.text(model.File, "empty.txt", "text/plain", "")
	external := model.Resource{Role: model.File, Name: "data.zip", Type: "application/zip", Href: "https://elsewhere.example/data.zip", Content: model.Content{Length: -1}}
	put := func(n int, title string, resources ...model.Resource) {
		w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", n), State: model.State{Title: title, Resources: slices.Clone(resources)}})
	}
	put(1, "Amber River", dc("<a/>"), json, pdf)
	put(2, "Blue River", dc("<b/>"), external)
	put(3, "Copper River", dc("<c/>"))
	put(1, "Amber River", dc("<a2/>"), json, pdf, empty) // updated, and a file added
	put(2, "The Blue River", dc("<b/>"), external)       // the title only
	put(3, "Copper River", dc("<c/>"), json)
	put(1, "Amber River", dc("<a2/>"), pdf, empty) // json dropped
	w.Commit(model.Record{Identifier: "urn:example:3", Deleted: true})
	put(4, "Drift River", dc("<d/>"), json, pdf, empty)
	w.Seal()
	put(3, "Copper River", dc("<c3/>")) // again
	put(4, "Drift River", dc("<d4/>"), json, pdf, empty)
	w.showAll()
	w.takeSnapshot(w.Head(), w.view().Head.Time)
	return w
}

// walk gets every document that can be reached from the Capability List, by its
// path.
func (w *world) walk() map[string]*sitemaptest.Document {
	found := map[string]*sitemaptest.Document{}
	todo := []string{resourcesync.CapabilityListPath(w.Set.Name)}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if found[path] != nil {
			continue
		}
		d := w.parse(path)
		found[path] = d
		for _, e := range d.Entries() {
			if d.Index() || d.MD[0].Capability == "capabilitylist" {
				todo = append(todo, strings.TrimPrefix(e.URI(), base))
			}
			if manifest := e.Link("contents"); manifest != "" {
				todo = append(todo, strings.TrimPrefix(manifest, base))
			}
		}
		for _, l := range d.Links {
			if l.Rel == "index" {
				todo = append(todo, strings.TrimPrefix(l.Href, base))
			}
		}
	}
	return found
}

func TestEveryDocument(t *testing.T) {
	w := riverWorld(t)
	documents := w.walk()
	if len(documents) < 8 {
		t.Fatalf("reached %v only", slices.Sorted(maps.Keys(documents)))
	}
	capabilities := base + resourcesync.CapabilityListPath(w.Set.Name)
	for _, path := range slices.Sorted(maps.Keys(documents)) {
		t.Run(path, func(t *testing.T) {
			d := sitemaptest.Check(t, w.get(path))
			about := d.MD[0]
			t.Run("RS-NAV-01 RS-LN-13 up leads to the Capability List", func(t *testing.T) {
				want := capabilities
				if about.Capability == "capabilitylist" {
					want = base + "/.well-known/resourcesync"
				}
				if d.Link("up") != want {
					t.Errorf("up %q", d.Link("up"))
				}
			})
			t.Run("RS-TIME-01 RS-TIME-02 RS-TIME-03 RS-TIME-04 at or from", func(t *testing.T) {
				at, from := strings.HasPrefix(about.Capability, "resource"), strings.HasPrefix(about.Capability, "change")
				if (about.At != "") != at || about.Completed != "" || (about.From != "") != from || !from && about.Until != "" {
					t.Errorf("%+v", about)
				}
			})
			t.Run("RS-DOC-07 the lowered limit", func(t *testing.T) {
				if len(d.Entries()) > 6 {
					t.Errorf("%d entries", len(d.Entries()))
				}
			})
		})
	}
	t.Run("RS-DOC-09 valid by the schema", func(t *testing.T) {
		var bodies [][]byte
		for path, d := range documents {
			if len(d.Entries()) > 0 {
				bodies = append(bodies, w.get(path))
			}
		}
		sitemaptest.Validate(t, bodies...)
	})
}

func TestCapabilityList(t *testing.T) {
	w := riverWorld(t)
	path := resourcesync.CapabilityListPath(w.Set.Name)
	d := sitemaptest.Check(t, w.get(path))
	t.Run("RS-CAP-01 RS-CAP-06 a urlset with up", func(t *testing.T) {
		if d.Index() || d.MD[0].Capability != "capabilitylist" || d.Link("up") == "" {
			t.Errorf("%+v", d)
		}
	})
	t.Run("RS-CAP-02 RS-CAP-04 each capability once, with its URI", func(t *testing.T) {
		got := map[string]string{}
		for _, e := range d.URLs {
			if got[e.About().Capability] != "" {
				t.Errorf("%s twice", e.About().Capability)
			}
			got[e.About().Capability] = e.URI()
		}
		want := map[string]string{}
		for _, token := range model.Capabilities() {
			want[token] = base + "/rs/rivers/" + token + ".xml"
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("RS-DOC-12 no lastmod", func(t *testing.T) {
		for _, e := range d.URLs {
			if e.LastMod != "" {
				t.Errorf("%s has %s", e.URI(), e.LastMod)
			}
		}
	})
	t.Run("RS-NAV-04 describedby", func(t *testing.T) {
		if got := d.Link("describedby"); got != base+"/sets/rivers" {
			t.Errorf("by default %q", got)
		}
		w.Set.DescribedBy = "https://repo.example.org/about?x=1&y=2"
		if got := w.parse(path).Link("describedby"); got != w.Set.DescribedBy {
			t.Errorf("as set %q", got)
		}
	})
	t.Run("RS-CAP-03 one set", func(t *testing.T) {
		for _, e := range d.URLs {
			if !strings.HasPrefix(e.URI(), base+"/rs/rivers/") {
				t.Errorf("%s", e.URI())
			}
		}
	})
	t.Run("only what the policy offers", func(t *testing.T) {
		w.Set.Policy.Capabilities = []string{model.CapabilityChangeList}
		if d := w.parse(path); len(d.URLs) != 1 || d.URLs[0].About().Capability != "changelist" {
			t.Errorf("%+v", d.URLs)
		}
		for _, path := range []string{resourcesync.ResourceDumpPath("rivers"), resourcesync.ChangeDumpPath("rivers")} {
			if got := w.ask("GET", path).Code; got != 404 {
				t.Errorf("%s, which is not offered: %d", path, got)
			}
		}
		if got := w.ask("POST", resourcesync.SelectionPath("rivers")).Code; got != 404 {
			t.Errorf("a selection, which is not offered: %d", got)
		}
	})
	t.Run("RS-CAP-05 lists cover the same resources", func(t *testing.T) {
		w := riverWorld(t)
		list, changes := copyOfSet{}, copyOfSet{}
		w.list(list, resourcesync.ResourceListPath(w.Set.Name))
		w.limits.IndexSegments = 100
		for n := range w.published + 1 {
			apply(t, changes, w.parse(resourcesync.ChangeList{Set: w.Set.Name, Epoch: 1, Segment: n + 1}.Path()), "")
		}
		if !maps.Equal(list, changes) {
			t.Errorf("resource list %v\nchange lists %v", list, changes)
		}
	})
}

func TestResourceList(t *testing.T) {
	w := riverWorld(t)
	path := resourcesync.ResourceListPath(w.Set.Name)
	index := sitemaptest.Check(t, w.get(path))
	v := w.view()
	t.Run("RS-RL-01 capability, at and up", func(t *testing.T) {
		if !index.Index() || index.MD[0].Capability != "resourcelist" || index.MD[0].At == "" || index.Link("up") == "" {
			t.Errorf("%+v", index)
		}
	})
	t.Run("RS-TIME-05 at is the log's time at the snapshot's position", func(t *testing.T) {
		if index.MD[0].At != v.Head.Time.String() {
			t.Errorf("at %s, want %s", index.MD[0].At, v.Head.Time)
		}
	})
	t.Run("RS-RL-04 RS-RL-05 RS-RL-06 RS-NAV-02 disjoint parts of one generation", func(t *testing.T) {
		if len(index.Parts) < 2 {
			t.Fatalf("%d parts", len(index.Parts))
		}
		for _, part := range index.Parts {
			d := w.parse(strings.TrimPrefix(part.URI(), base))
			if d.MD[0].At != index.MD[0].At || part.About().At != index.MD[0].At {
				t.Errorf("part at %s, named at %s, index at %s", d.MD[0].At, part.About().At, index.MD[0].At)
			}
			sealed := strings.TrimPrefix(d.Link("index"), base)
			if !bytes.Equal(w.get(sealed), w.get(path)) {
				t.Errorf("index link %q is another index", d.Link("index"))
			}
			if got, _, err := resourcesync.ParsePartPath(strings.TrimPrefix(part.URI(), base)); err != nil || got.IndexPath() != sealed {
				t.Errorf("part %s of %s", part.URI(), sealed)
			}
		}
	})
	t.Run("RS-RL-02 every live resource once, no other", func(t *testing.T) {
		set := copyOfSet{}
		w.list(set, path) // complains about duplicates
		if want := w.modelAt(w.Head()); !maps.Equal(set, want) {
			t.Errorf("got %v\nwant %v", set, want)
		}
	})
	t.Run("RS-RL-03 no change, datetime or path", func(t *testing.T) {
		for _, e := range w.listed() {
			if m := e.About(); m.Change != "" || m.DateTime != "" || m.Path != "" || m.Hash == "" || m.Length == "" || m.Type == "" || e.LastMod == "" {
				t.Errorf("%+v", e)
			}
		}
	})
	t.Run("RS-LN-05 a file and its description point at each other", func(t *testing.T) { checkDescribes(t, w.listed()) })
	t.Run("RS-LN-11 profile", func(t *testing.T) {
		for _, e := range w.listed() {
			if dc := strings.HasSuffix(e.URI(), "/oai_dc.xml"); dc != (e.Link("profile") == "http://www.openarchives.org/OAI/2.0/oai_dc/?a=1&b=2") {
				t.Errorf("%s has profile %q", e.URI(), e.Link("profile"))
			}
		}
	})
	t.Run("RS-DOC-05 percent-encoded names", func(t *testing.T) {
		found := false
		for _, e := range w.listed() {
			u, err := url.Parse(e.URI())
			if err != nil {
				t.Error(err)
			}
			found = found || strings.HasSuffix(u.Path, "/thésis & <more>.pdf")
		}
		if !found {
			t.Error("the file is not listed")
		}
	})
	t.Run("external resources are not listed", func(t *testing.T) {
		if body := fmt.Sprint(w.listed()); strings.Contains(body, "data.zip") {
			t.Error(body)
		}
	})
}

// listed are the entries of the newest Resource List.
func (w *world) listed() []sitemaptest.Entry {
	var entries []sitemaptest.Entry
	for _, part := range w.parse(resourcesync.ResourceListPath(w.Set.Name)).Parts {
		entries = append(entries, w.parse(strings.TrimPrefix(part.URI(), base)).URLs...)
	}
	return entries
}

func checkDescribes(t *testing.T, entries []sitemaptest.Entry) {
	pairs := map[[2]string]int{}
	for _, e := range entries {
		for _, l := range e.Links {
			switch l.Rel {
			case "describes":
				pairs[[2]string{e.URI(), l.Href}]++
			case "describedby":
				pairs[[2]string{l.Href, e.URI()}] += 100
			}
		}
	}
	if len(pairs) == 0 {
		t.Error("no link at all")
	}
	for pair, n := range pairs {
		if n != 101 {
			t.Errorf("%v linked %d times", pair, n)
		}
	}
}

func TestEmptySet(t *testing.T) {
	w := newWorld(t, model.Limits{})
	t.Run("RS-DOC-10 lists without entries", func(t *testing.T) {
		list := sitemaptest.Check(t, w.get(resourcesync.ResourceListPath(w.Set.Name)))
		if list.Index() || len(list.URLs) != 0 || list.MD[0].At != modeltest.Start.String() || list.Link("index") != "" {
			t.Errorf("resource list %+v", list)
		}
		lists := w.changeLists()
		if len(lists) != 1 || len(lists[0].URLs) != 0 || lists[0].MD[0].From != modeltest.Start.String() || lists[0].MD[0].Until != "" {
			t.Errorf("change lists %+v", lists)
		}
	})
	t.Run("RS-RL-02 all deleted", func(t *testing.T) {
		dc := w.text(model.Representation, "dc.xml", "application/xml", "")
		w.Commit(model.Record{Identifier: "urn:example:1", State: model.State{Resources: []model.Resource{dc}}})
		w.Commit(model.Record{Identifier: "urn:example:1", Deleted: true})
		w.showAll()
		w.checkFolds([]snapshotCopy{w.copySnapshot(2, w.view().Head.Time)})
		list := sitemaptest.Check(t, w.get(resourcesync.ResourceListPath(w.Set.Name)))
		if list.Index() || len(list.URLs) != 0 {
			t.Errorf("resource list %+v", list)
		}
	})
}
