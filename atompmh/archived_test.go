package atompmh_test

import (
	"strings"
	"testing"

	"gateway/model"
)

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
