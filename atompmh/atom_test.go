package atompmh_test

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"gateway/model"
)

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
