package atompmh_test

import (
	"encoding/xml"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"gateway/model"
	"gateway/model/modeltest"
)

const rdc = `<entry xmlns="http://www.w3.org/2005/Atom"/>`

// amber is a record that has everything a record can have.
func amber() model.Record {
	dc := modeltest.Text(model.Representation, "oai_dc.xml", "application/xml", "<dc/>")
	dc.Profile = "http://www.openarchives.org/OAI/2.0/oai_dc/"
	english := modeltest.Text(model.Representation, "Amber River.json", "application/json", "{}")
	english.Hreflang = "en"
	german := modeltest.Text(model.Representation, "Bernsteinfluß.json", "application/json", `{"de":1}`)
	german.Hreflang = "de-AT"
	elsewhere := model.Resource{Name: "mods.xml", Type: "application/mods+xml", Href: "https://elsewhere.example/mods?id=1&v=2", Content: model.Content{Length: 77}}
	scan := modeltest.Text(model.File, "scan 1.pdf", "application/pdf", "%PDF")
	data := model.Resource{Role: model.File, Name: "data.zip", Type: "application/zip", Href: "https://elsewhere.example/data.zip", Content: model.Content{Length: 99}}
	return model.Record{Identifier: "urn:river:amber?a=1&b='2'", State: model.State{
		Title: `Amber River, "the <slow> one" & its stones`, Summary: "Two lines,\nthe second & last.",
		Collections: []string{"rivers", "R&D"}, Modified: "2001-01-01T00:00:00Z",
		Links: []model.Link{
			{Rel: "describedby", Href: "https://landing.example/amber", Type: "text/html", Hreflang: "en", Title: "Landing page"},
			{Rel: "alternate", Href: "https://landing.example/other", Type: "application/json"},
			{Rel: "http://www.iana.org/assignments/relation/Alternate", Href: "https://landing.example/third"},
			{Rel: "enclosure", Href: "https://landing.example/poster.png", Type: "image/png"},
			{Rel: "via", Href: "https://origin.example/amber"},
			{Rel: "predecessor-version", Href: "https://origin.example/amber/1"},
			{Rel: "self", Href: "https://origin.example/self"},
			{Rel: "edit", Href: "https://origin.example/edit"},
			{Rel: "Prev-Archive", Href: "https://origin.example/trap"},
			{Rel: "next", Href: "https://origin.example/trap"},
		},
		Resources: []model.Resource{
			dc, english, german, modeltest.Text(model.Representation, "rdc.atom", "application/atom+xml", rdc), elsewhere, scan, data,
		},
	}}
}

// small is a record without a title.
func small(identifier, content string) model.Record {
	return model.Record{Identifier: identifier, State: model.State{
		Resources: []model.Resource{modeltest.Text(model.Representation, "dc.xml", "application/xml", content)},
	}}
}

// full is a world with every kind of entry: two published segments of three, and
// one change more.
func full(t *testing.T) *world {
	w := newWorld(t, 3)
	w.Set.Title, w.Set.Description, w.Set.DescribedBy = "Rivers & streams", "Everything that flows", "https://about.example/?set=rivers&v=1"
	w.Set.Author = model.Author{Name: "River Survey", Email: "rivers@survey.example", URI: "https://survey.example/"}
	revised := amber()
	revised.Title += ", revised"
	revised.Resources = slices.Delete(revised.Resources, 1, 2)
	w.Commit(amber(), small("urn:river:birch", "1"), revised,
		model.Record{Identifier: "urn:river:birch", Deleted: true}, small("urn:river:cedar", "1"), small("urn:river:birch", "2"),
		model.Record{Identifier: "urn:river:cedar", Deleted: true})
	return w.now()
}

// feeds are all Atom documents of w, by path.
func (w *world) feeds() map[string]*xmlFeed {
	feeds := map[string]*xmlFeed{}
	for _, path := range w.paths() {
		feeds[path] = w.feed(path)
	}
	return feeds
}

func (w *world) paths() []string {
	return []string{"/atom/rivers", "/atom/rivers/complete", "/atom/rivers/1/archive/1", "/atom/rivers/1/archive/2"}
}

// entries are those of all documents of w.
func (w *world) entries() (all []*xmlEntry) {
	feeds := w.feeds()
	for _, path := range slices.Sorted(maps.Keys(feeds)) {
		for i := range feeds[path].Entries {
			all = append(all, &feeds[path].Entries[i])
		}
	}
	return all
}

func TestFullWorld(t *testing.T) {
	w := full(t)
	w.everywhere(w.check)
}

func TestAtom(t *testing.T) {
	w := full(t)
	feeds, entries := w.feeds(), w.entries()
	t.Run("ATOM-01 one root, well-formed, in the Atom namespace", func(t *testing.T) {
		for _, path := range w.paths() {
			if got, want := rootsOf(t, w.get(path)), (xml.Name{Space: atomNS, Local: "feed"}); !slices.Equal(got, []xml.Name{want}) {
				t.Errorf("%s: roots %v", path, got)
			}
		}
	})
	t.Run("ATOM-03 a feed has one id, title and updated", func(t *testing.T) {
		for path, f := range feeds {
			if len(f.IDs) != 1 || len(f.Titles) != 1 || len(f.Updated) != 1 || f.Titles[0] != "Rivers & streams" {
				t.Errorf("%s: ids %q, titles %q, updated %q", path, f.IDs, f.Titles, f.Updated)
			}
		}
	})
	t.Run("ATOM-04 an entry has one id, title and updated", func(t *testing.T) {
		for _, e := range entries {
			if len(e.IDs) != 1 || len(e.Titles) != 1 || len(e.Updated) != 1 || e.Titles[0] == "" {
				t.Errorf("ids %q, titles %q, updated %q", e.IDs, e.Titles, e.Updated)
			}
		}
	})
	t.Run("ATOM-05 dates have a capital T and Z", func(t *testing.T) {
		for path, f := range feeds {
			if f.updated() == 0 {
				t.Errorf("%s: %q", path, f.Updated)
			}
		}
		for _, e := range entries {
			if e.updated() == 0 {
				t.Errorf("%s: %q", e.id(), e.Updated)
			}
		}
	})
	t.Run("ATOM-06 the feed has an author", func(t *testing.T) {
		for path, f := range feeds {
			if len(f.Authors) != 1 || !slices.Equal(f.Authors[0].Name, []string{"River Survey"}) ||
				!slices.Equal(f.Authors[0].Email, []string{"rivers@survey.example"}) || !slices.Equal(f.Authors[0].URI, []string{"https://survey.example/"}) {
				t.Errorf("%s: %v", path, f.Authors)
			}
		}
		anonymous := newWorld(t, 3)
		anonymous.Set.Author, anonymous.Set.Title = model.Author{}, ""
		if f := anonymous.feed("/atom/rivers"); len(f.Authors) != 1 || f.Authors[0].Name[0] != "rivers" {
			t.Errorf("without an author of its own: %v", f.Authors)
		}
	})
	t.Run("ATOM-07 ids stay, in all documents and at another base URL", func(t *testing.T) {
		moved := full(t)
		moved.Epoch.Number, moved.Epoch.BaseURL = 2, "https://moved.example"
		after := moved.feed("/atom/rivers")
		if after.link("self") != "https://moved.example/atom/rivers" {
			t.Errorf("self %q", after.link("self"))
		}
		for path, f := range feeds {
			want := w.Set.FeedID
			if strings.HasSuffix(path, "/complete") {
				want = w.Set.CompleteID
			}
			if f.IDs[0] != want {
				t.Errorf("%s: id %s", path, f.IDs[0])
			}
		}
		before := feeds["/atom/rivers"]
		for i := range before.Entries {
			if before.Entries[i].id() != after.Entries[i].id() || before.Entries[i].Updated[0] != after.Entries[i].Updated[0] {
				t.Errorf("%s became %s", before.Entries[i].id(), after.Entries[i].id())
			}
		}
	})
	t.Run("ATOM-09 no content, so an alternate", func(t *testing.T) {
		for _, e := range entries {
			if len(e.Contents) == 0 && len(relation(e.Links, "alternate")) == 0 {
				t.Errorf("%s of %s has neither", e.id(), e.Updated)
			}
		}
	})
	t.Run("ATOM-10 alternates differ in type or hreflang", func(t *testing.T) {
		for _, e := range entries {
			seen := map[string]bool{}
			for _, l := range relation(e.Links, "alternate") {
				if key := *l.Type + " " + l.Hreflang; seen[key] {
					t.Errorf("%s of %s has two alternates %s", e.id(), e.Updated, key)
				} else {
					seen[key] = true
				}
			}
		}
		twice := small("urn:x:1", "")
		inType, beside := twice.Resources[0], twice.Resources[0]
		inType.Name, inType.Type = "a", `application/xml; profile="http://p/"`
		beside.Name, beside.Profile = "b", "http://p/"
		twice.Resources = []model.Resource{inType, beside}
		if err := twice.Validate(); err == nil {
			t.Error("a record is valid whose alternates agree in both")
		}
	})
	t.Run("ATOM-11 links have href and a registered relation or a URI", func(t *testing.T) {
		known := []string{"alternate", "enclosure", "related", "via", "describedby", "predecessor-version", "self", "current", "prev-archive", "next-archive"}
		check := func(links []xmlLink) {
			for _, l := range links {
				if !strings.Contains(l.Href, "://") || !slices.Contains(known, l.Rel) && !strings.Contains(l.Rel, ":") {
					t.Errorf("%+v", l)
				}
			}
		}
		for _, f := range feeds {
			check(f.Links)
		}
		for _, e := range entries {
			check(e.Links)
		}
	})
	t.Run("ATOM-12 self is where it is", func(t *testing.T) {
		for path, f := range feeds {
			if f.link("self") != base+path {
				t.Errorf("%s: self %q", path, f.link("self"))
			}
		}
	})
	t.Run("ATOM-13 metadata first, each once", func(t *testing.T) {
		for _, path := range w.paths() {
			names := childrenOf(t, w.get(path))
			first := slices.Index(names, "entry")
			if rest := names[first:]; first < 0 || slices.ContainsFunc(rest, func(s string) bool { return s != "entry" }) {
				t.Errorf("%s: %v", path, names)
			}
			for _, name := range []string{"generator", "subtitle", "icon", "logo", "rights"} {
				if n := strings.Count(" "+strings.Join(names, " ")+" ", " "+name+" "); n > 1 {
					t.Errorf("%s: %d of %s", path, n, name)
				}
			}
		}
	})
	t.Run("ATOM-14 entries of one record differ in updated", func(t *testing.T) {
		repeated := 0
		for path, f := range feeds {
			seen := map[string]string{}
			for i := range f.Entries {
				e := &f.Entries[i]
				if was, ok := seen[e.id()]; ok {
					repeated++
					if was == e.Updated[0] {
						t.Errorf("%s: %s twice at %s", path, e.id(), was)
					}
				}
				seen[e.id()] = e.Updated[0]
			}
		}
		if repeated == 0 {
			t.Error("the test has no document with two entries of one record")
		}
	})
	t.Run("ATOM-15 content is that of a deletion only: empty, without src and type", func(t *testing.T) {
		for _, e := range entries {
			if len(e.Contents) > 0 && !e.deleted() {
				t.Errorf("%s: %v", e.id(), e.Contents)
			}
		}
	})
	t.Run("ATOM-21 version links given on input stay", func(t *testing.T) {
		if got := relation(entryOf(t, feeds["/atom/rivers/1/archive/1"], 0).Links, "predecessor-version"); len(got) != 1 || got[0].Href != "https://origin.example/amber/1" {
			t.Errorf("%+v", got)
		}
	})
}

func TestArchivedFeed(t *testing.T) {
	w := full(t)
	feeds := w.feeds()
	subscription, complete := feeds["/atom/rivers"], feeds["/atom/rivers/complete"]
	archive1, archive2 := feeds["/atom/rivers/1/archive/1"], feeds["/atom/rivers/1/archive/2"]
	t.Run("ARCH-01 fh:complete is empty, and on the whole feed only", func(t *testing.T) {
		if len(complete.Complete) != 1 || complete.Complete[0].Inner != "" || len(complete.Entries) != 2 {
			t.Errorf("complete feed: %v, %d entries", complete.Complete, len(complete.Entries))
		}
		for _, f := range []*xmlFeed{subscription, archive1, archive2} {
			if len(f.Complete) != 0 {
				t.Errorf("%s: %v", f.link("self"), f.Complete)
			}
		}
	})
	t.Run("ARCH-06 the subscription document has the newest entries", func(t *testing.T) {
		w := newWorld(t, 2)
		if n := len(w.feed("/atom/rivers").Entries); n != 0 {
			t.Errorf("%d entries without a change", n)
		}
		for i := range 5 {
			w.fill(1).now()
			f := w.feed("/atom/rivers")
			if len(f.Entries) == 0 || f.Entries[0].updated() != w.At(model.Position(i+1)).Time {
				t.Errorf("after change %d: %d entries, updated %s", i+1, len(f.Entries), f.Updated)
			}
		}
	})
	t.Run("ARCH-07 prev-archive down to the oldest", func(t *testing.T) {
		for f, want := range map[*xmlFeed]string{subscription: base + "/atom/rivers/1/archive/1", archive2: base + "/atom/rivers/1/archive/1", archive1: ""} {
			if f.link("prev-archive") != want {
				t.Errorf("%s: %q", f.link("self"), f.link("prev-archive"))
			}
		}
	})
	t.Run("ARCH-08 next-archive on sealed archives only", func(t *testing.T) {
		for f, want := range map[*xmlFeed]string{subscription: "", archive2: "", archive1: base + "/atom/rivers/1/archive/2"} {
			if f.link("next-archive") != want {
				t.Errorf("%s: %q", f.link("self"), f.link("next-archive"))
			}
		}
	})
	t.Run("ARCH-09 current is the subscription document", func(t *testing.T) {
		for _, f := range []*xmlFeed{subscription, archive1, archive2} {
			if f.link("current") != base+"/atom/rivers" {
				t.Errorf("%s: %q", f.link("self"), f.link("current"))
			}
		}
	})
	t.Run("ARCH-10 fh:archive on archives only", func(t *testing.T) {
		for f, want := range map[*xmlFeed]int{subscription: 0, complete: 0, archive1: 1, archive2: 1} {
			if len(f.Archive) != want {
				t.Errorf("%s: %d", f.link("self"), len(f.Archive))
			}
		}
	})
	t.Run("ARCH-11 archives stay as they are", func(t *testing.T) {
		w := newWorld(t, 2).fill(4).now()
		sealed, newest := string(w.get("/atom/rivers/1/archive/1")), w.feed("/atom/rivers/1/archive/2")
		for range 5 {
			w.fill(1).now() // seals again and compares
			if string(w.get("/atom/rivers/1/archive/1")) != sealed {
				t.Error("a sealed archive changed")
			}
			now := w.feed("/atom/rivers/1/archive/2")
			if len(now.Entries) != 2 || now.Entries[0].Updated[0] != newest.Entries[0].Updated[0] || now.Entries[1].Updated[0] != newest.Entries[1].Updated[0] {
				t.Errorf("the entries of an archive changed: %d", len(now.Entries))
			}
		}
	})
	t.Run("ARCH-12 entries of one record differ in updated over the chain", func(t *testing.T) {
		seen := map[string]bool{}
		for _, d := range w.chain() {
			for i := range d.Entries {
				key := d.Entries[i].id() + " " + d.Entries[i].Updated[0]
				if seen[key] {
					t.Errorf("%s twice", key)
				}
				seen[key] = true
			}
		}
		if len(seen) != 7 {
			t.Errorf("%d entries for 7 changes", len(seen))
		}
	})
	t.Run("ARCH-14 complete and archived feeds are not mixed, pages not used", func(t *testing.T) {
		for path, f := range feeds {
			for _, rel := range []string{"next", "previous", "prev", "first", "last"} {
				if f.link(rel) != "" {
					t.Errorf("%s has %s", path, rel)
				}
			}
			for _, l := range f.Links {
				if path != "/atom/rivers/complete" && strings.HasSuffix(l.Href, "/complete") {
					t.Errorf("%s links to the complete feed as %s", path, l.Rel)
				}
			}
		}
		if complete.link("prev-archive") != "" || complete.link("current") != "" {
			t.Errorf("the complete feed links to the archived one: %+v", complete.Links)
		}
	})
}

// relation returns the links that have the relation.
func relation(links []xmlLink, rel string) (some []xmlLink) {
	for _, l := range links {
		if l.Rel == rel {
			some = append(some, l)
		}
	}
	return some
}

func entryOf(t *testing.T, f *xmlFeed, i int) *xmlEntry {
	t.Helper()
	if i >= len(f.Entries) {
		t.Fatalf("%s has %d entries", f.link("self"), len(f.Entries))
	}
	return &f.Entries[i]
}

func rootsOf(t *testing.T, b []byte) (roots []xml.Name) {
	elements(t, b, func(depth int, name xml.Name) {
		if depth == 0 {
			roots = append(roots, name)
		}
	})
	return roots
}

func childrenOf(t *testing.T, b []byte) (names []string) {
	elements(t, b, func(depth int, name xml.Name) {
		if depth == 1 {
			names = append(names, name.Local)
		}
	})
	return names
}

func elements(t *testing.T, b []byte, visit func(depth int, name xml.Name)) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(b)))
	depth := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			visit(depth, x.Name)
			depth++
		case xml.EndElement:
			depth--
		}
	}
}
