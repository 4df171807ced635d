package resourcesync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gateway/model"
	"gateway/model/modeltest"
	"gateway/resourcesync"
	"gateway/sitemap/sitemaptest"
)

func TestChangeLists(t *testing.T) {
	w := riverWorld(t)
	var lists []*sitemaptest.Document
	for n := range w.published + 1 {
		d := sitemaptest.Check(t, w.get(resourcesync.ChangeList{Set: w.Set.Name, Epoch: 1, Segment: n + 1}.Path()))
		lists = append(lists, d)
	}
	var entries []sitemaptest.Entry
	for _, d := range lists {
		entries = append(entries, d.URLs...)
	}
	t.Run("RS-CL-01 RS-CL-05 RS-CL-08 oldest first, within the interval, none twice", func(t *testing.T) {
		for _, d := range lists {
			w.checkOrder(d)
		}
	})
	t.Run("RS-CL-02 one entry per change of a resource", func(t *testing.T) {
		if diff := diffLines(w.expectedEntries(), described(entries)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("RS-CL-03 created, updated and deleted", func(t *testing.T) {
		got := map[string]int{}
		for _, e := range entries {
			got[e.About().Change]++
		}
		if len(got) != 3 || got["created"] == 0 || got["updated"] == 0 || got["deleted"] == 0 {
			t.Errorf("%v", got)
		}
	})
	t.Run("RS-CL-04 RS-NAV-02 capability, from, up, index", func(t *testing.T) {
		for _, d := range lists {
			if d.MD[0].Capability != "changelist" || d.MD[0].From == "" || d.Link("up") == "" ||
				d.Link("index") != base+resourcesync.ChangeListIndexPath(w.Set.Name) {
				t.Errorf("%+v %+v", d.MD, d.Links)
			}
		}
	})
	t.Run("RS-CL-06 RS-CL-07 datetime and lastmod on every entry", func(t *testing.T) {
		for _, e := range entries {
			if e.About().DateTime == "" || e.LastMod != e.About().DateTime {
				t.Errorf("%+v", e)
			}
		}
	})
	t.Run("RS-CL-09 deleted without hash, length, type and links", func(t *testing.T) {
		for _, e := range entries {
			m := e.About()
			bare := m.Hash == "" && m.Length == "" && m.Type == "" && len(e.Links) == 0
			if (m.Change == "deleted") != bare {
				t.Errorf("%+v", e)
			}
		}
	})
	t.Run("RS-DOC-14 hash, length and base type of the content", func(t *testing.T) {
		content := modeltest.ContentOf("{}")
		for _, e := range entries {
			m := e.About()
			if !strings.HasSuffix(e.URI(), "/record.json") || m.Change == "deleted" {
				continue
			}
			if want := fmt.Sprintf("md5:%x sha-256:%x", content.MD5, content.SHA256); m.Hash != want || m.Length != "2" || m.Type != "application/json" {
				t.Errorf("%+v", m)
			}
		}
	})
	t.Run("RS-LN-05 links of changed resources", func(t *testing.T) {
		for _, e := range entries {
			file := strings.HasSuffix(e.URI(), ".pdf") || strings.HasSuffix(e.URI(), ".txt")
			dc := e.URI()[:strings.LastIndex(e.URI(), "/")] + "/oai_dc.xml"
			if live := e.About().Change != "deleted"; (file && live) != (e.Link("describedby") == dc) {
				t.Errorf("%+v", e)
			}
		}
	})
	t.Run("RS-TIME-07 RS-TIME-08 RS-TIME-09 the open list grows and the baseline reaches into it", func(t *testing.T) {
		s := w.copySnapshot(w.Head(), w.view().Head.Time)
		path := resourcesync.ChangeList{Set: w.Set.Name, Epoch: 1, Segment: w.published + 1}.Path()
		before := w.parse(path)
		w.Commit(model.Record{Identifier: "urn:example:4", Deleted: true})
		w.show(w.Head(), w.published)
		after := w.parse(path)
		if len(after.URLs) <= len(before.URLs) || after.MD[0] != before.MD[0] {
			t.Errorf("before %+v\nafter %+v", before, after)
		}
		later := after.URLs[len(before.URLs):]
		for _, e := range later {
			if e.About().DateTime <= s.at {
				t.Errorf("%s is not after %s", e.About().DateTime, s.at)
			}
		}
	})
}

// expectedEntries are the entries that the log calls for, in order.
func (w *world) expectedEntries() []string {
	var want []string
	for p := model.Position(1); p <= w.Head(); p++ {
		c := w.At(p)
		line := func(name string, k model.Kind) {
			want = append(want, fmt.Sprintf("%s %s %s", c.Time, k, model.AppendResourceURI(nil, base, w.Set.Name, c.Record, name)))
		}
		for _, r := range c.Resources {
			if r.Kind != model.Same && !r.External() {
				line(r.Name, r.Kind)
			}
		}
		for _, d := range c.Dropped {
			if !d.External {
				line(d.Name, model.Deleted)
			}
		}
	}
	return want
}

func described(entries []sitemaptest.Entry) []string {
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%s %s %s", e.About().DateTime, e.About().Change, e.URI()))
	}
	return got
}

func diffLines(want, got []string) string {
	if slices.Equal(want, got) {
		return ""
	}
	return "want\n" + strings.Join(want, "\n") + "\ngot\n" + strings.Join(got, "\n")
}

func TestChangeListIndex(t *testing.T) {
	w := riverWorld(t)
	if len(w.Cut()) != 4 {
		t.Fatalf("%d segments", len(w.Cut()))
	}
	d := sitemaptest.Check(t, w.get(resourcesync.ChangeListIndexPath(w.Set.Name)))
	t.Run("RS-CL-10 RS-CL-12 RS-CL-11 lists in order, tiling, as they say themselves", func(t *testing.T) {
		if got := len(w.changeLists()); got != 4 { // the newest three and the open one
			t.Errorf("%d lists", got)
		}
	})
	t.Run("RS-CL-13 from of the oldest list named, open", func(t *testing.T) {
		if d.MD[0].From != w.Cut()[1].From.String() || d.MD[0].Until != "" {
			t.Errorf("%+v", d.MD[0])
		}
	})
	t.Run("lists not named any more stay", func(t *testing.T) {
		w.get(resourcesync.ChangeList{Set: w.Set.Name, Epoch: 1, Segment: 1}.Path())
	})
	t.Run("RS-NAV-05 an index from the beginning on", func(t *testing.T) {
		w.show(0, 0)
		if d := w.parse(resourcesync.ChangeListIndexPath(w.Set.Name)); !d.Index() || len(d.Parts) != 1 {
			t.Errorf("%+v", d)
		}
	})
}

// More segments than are read at a time.
func TestLongChangeListIndex(t *testing.T) {
	w := newWorld(t, model.Limits{})
	w.Set.Policy.SegmentSize = 1
	const segments = 2100
	for i := range segments {
		w.Commit(model.Record{Identifier: "urn:example:1", State: model.State{Title: fmt.Sprint(i), Resources: []model.Resource{
			w.text(model.Representation, "dc.xml", "application/xml", "")}}})
	}
	w.position, w.published = w.Head(), segments
	d := w.parse(resourcesync.ChangeListIndexPath(w.Set.Name))
	if len(d.Parts) != segments+1 {
		t.Fatalf("%d lists", len(d.Parts))
	}
	for i := range segments {
		if d.Parts[i].About().Until != d.Parts[i+1].About().From {
			t.Errorf("list %d", i)
		}
	}
}

// An epoch that begins in mid-log publishes what follows, from its own time on,
// also where it begins within a segment.
func TestEpochInMidLog(t *testing.T) {
	for _, cut := range []bool{true, false} {
		t.Run(fmt.Sprintf("cut before: %v", cut), func(t *testing.T) {
			w := newWorld(t, model.Limits{})
			w.Set.Policy.SegmentSize = 3
			for i := range 5 {
				w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), State: model.State{Resources: []model.Resource{
					w.text(model.Representation, "dc.xml", "application/xml", "")}}})
			}
			if cut {
				w.Seal()
			}
			w.Set.Policy.SegmentSize = 100
			w.Clock += 10_000_000
			w.Epoch = model.Epoch{Number: 2, Reason: "erasure", BaseURL: base, First: 5, From: w.Clock - 5_000_000, Began: w.Clock - 5_000_000}
			before := model.SegmentNumber(len(w.Cut()))
			w.show(5, before)
			w.checkLists("0")
			for i := range 2 {
				w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), Deleted: true})
			}
			w.show(7, before)
			w.checkLists("2")
			w.Seal()
			w.showAll()
			w.checkLists("2 0")
			w.Commit(model.Record{Identifier: "urn:example:3", Deleted: true})
			w.showAll()
			w.checkLists("2 1")
			if got := w.ask("GET", resourcesync.ChangeList{Set: w.Set.Name, Epoch: 2, Segment: 1}.Path()).Code; got != 404 {
				t.Errorf("a list of before the epoch: %d", got)
			}
		})
	}
}

// checkLists wants change lists of so many entries, from the epoch's time on.
func (w *world) checkLists(want string) {
	w.t.Helper()
	var got []string
	lists := w.changeLists()
	for _, d := range lists {
		got = append(got, fmt.Sprint(len(d.URLs)))
	}
	if strings.Join(got, " ") != want || lists[0].MD[0].From != w.Epoch.From.String() {
		w.t.Errorf("at %d lists of %v entries from %s, want %s from %s", w.position, got, lists[0].MD[0].From, want, w.Epoch.From)
	}
}
