package atompmh_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gateway/model"
)

// TestMetadataHarvesting goes through Atom-PMH by its headings. In the full
// world amber was created and revised, birch created, deleted and created again,
// cedar created and deleted.
func TestMetadataHarvesting(t *testing.T) {
	w := full(t)
	chain := w.chain()
	newest := map[string][]*xmlEntry{} // of each record, newest first
	for _, d := range chain {
		for i := range d.Entries {
			e := &d.Entries[i]
			newest[e.id()] = append(newest[e.id()], e)
		}
	}
	amber, birch, cedar := newest[amber().Identifier], newest["urn:river:birch"], newest["urn:river:cedar"]
	t.Run("PMH-DOC-01 the documents form an archived feed", func(t *testing.T) {
		if len(chain) != 2 || chain[1].path != "/atom/rivers/1/archive/1" {
			t.Errorf("a chain of %d documents", len(chain))
		}
	})
	t.Run("PMH-DOC-02 an entry stands for one record", func(t *testing.T) {
		if len(newest) != 3 || len(amber) != 2 || len(birch) != 3 || len(cedar) != 2 {
			t.Errorf("%d ids; %d, %d and %d entries", len(newest), len(amber), len(birch), len(cedar))
		}
	})
	t.Run("PMH-TS-01 no entry is newer than its document", func(t *testing.T) {
		for path, f := range w.feeds() {
			for i := range f.Entries {
				if f.Entries[i].updated() > f.updated() {
					t.Errorf("%s: updated %s, an entry %s", path, f.Updated, f.Entries[i].Updated)
				}
			}
		}
	})
	t.Run("PMH-TS-02 the document behind prev-archive is not newer than any entry", func(t *testing.T) {
		w := newWorld(t, 2).fill(9)
		pairs := 0
		w.everywhere(func() {
			documents := w.chain()
			for i := range len(documents) - 1 {
				w.checkOrder(&documents[i], &documents[i+1])
				pairs++
			}
		})
		if pairs == 0 {
			t.Error("the test has no pair of documents")
		}
	})
	t.Run("PMH-TS-03 prev-archive resolves", func(t *testing.T) {
		h := serve(w)
		for _, d := range chain {
			if prev := d.link("prev-archive"); prev != "" {
				if got := request(h, "GET", prev[len(base):]); got.Code != 200 || got.Header().Get("Content-Type") != "application/atom+xml" {
					t.Errorf("%s: status %d", prev, got.Code)
				}
			}
		}
	})
	t.Run("PMH-ACT-01 an active entry for each live record and no other", func(t *testing.T) {
		active := map[string]entry{}
		for id, entries := range newest {
			if !entries[0].deleted() {
				active[id] = said(entries[0])
			}
		}
		if d := cmp.Diff(w.state(), active); d != "" {
			t.Errorf("(-model +active):\n%s", d)
		}
	})
	t.Run("PMH-ACT-02 the id is the record's identifier, byte for byte", func(t *testing.T) {
		if amber[0].id() != "urn:river:amber?a=1&b='2'" || amber[1].id() != amber[0].id() {
			t.Errorf("%q and %q", amber[0].id(), amber[1].id())
		}
	})
	t.Run("PMH-ACT-03 updated is the time of the change", func(t *testing.T) {
		if amber[0].updated() != w.At(3).Time || birch[0].updated() != w.At(6).Time {
			t.Errorf("%s and %s", amber[0].Updated, birch[0].Updated)
		}
	})
	t.Run("PMH-ACT-04 the active entry is newer than every historical one", func(t *testing.T) {
		for id, entries := range newest {
			for _, e := range entries[1:] {
				if e.updated() >= entries[0].updated() {
					t.Errorf("%s: %s and %s", id, entries[0].Updated, e.Updated)
				}
			}
		}
	})
	t.Run("PMH-ACT-05 no content", func(t *testing.T) {
		if len(amber[0].Contents)+len(birch[0].Contents) != 0 {
			t.Errorf("%v and %v", amber[0].Contents, birch[0].Contents)
		}
	})
	t.Run("PMH-ACT-06 an alternate for each hosted representation, with its type", func(t *testing.T) {
		var got []string
		for _, l := range relation(amber[1].Links, "alternate") {
			got = append(got, fmt.Sprintf("%s %s %s %s", l.Href, *l.Type, l.Hreflang, l.Length))
		}
		want := []string{
			base + `/r/rivers/1/oai_dc.xml application/xml; profile="http://www.openarchives.org/OAI/2.0/oai_dc/"  5`,
			base + `/r/rivers/1/Amber%20River.json application/json en 2`,
			base + `/r/rivers/1/Bernsteinflu%C3%9F.json application/json de-AT 8`,
			base + `/r/rivers/1/rdc.atom application/atom+xml  44`,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
	t.Run("PMH-ACT-07 what is not hosted is no alternate", func(t *testing.T) {
		for _, l := range relation(amber[0].Links, "alternate") {
			if l.Href[:len(base)] != base {
				t.Errorf("%+v", l)
			}
		}
		if got := len(relation(amber[0].Links, "related")); got != 4 { // mods.xml, two alternates and an enclosure given on input
			t.Errorf("%d related links", got)
		}
		if got := relation(amber[0].Links, "enclosure"); len(got) != 2 || got[0].Length != "4" || got[1].Length != "" || got[1].Href != "https://elsewhere.example/data.zip" {
			t.Errorf("enclosures %+v", got)
		}
	})
	t.Run("PMH-DEL-01 each deletion has one deletion entry", func(t *testing.T) {
		deletions := map[model.Time]int{}
		for _, entries := range newest {
			for _, e := range entries {
				if e.deleted() {
					deletions[e.updated()]++
				}
			}
		}
		if d := cmp.Diff(map[model.Time]int{w.At(4).Time: 1, w.At(7).Time: 1}, deletions); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
	t.Run("PMH-DEL-02 PMH-CMP-02 no fh:complete in a feed with deletions", func(t *testing.T) {
		for _, d := range chain {
			if len(d.Complete) != 0 {
				t.Errorf("%s: %v", d.path, d.Complete)
			}
		}
	})
	t.Run("PMH-DEL-04 a deletion entry has the record's id and the time of its deletion", func(t *testing.T) {
		if !cedar[0].deleted() || cedar[0].updated() != w.At(7).Time || cedar[0].updated() <= cedar[1].updated() {
			t.Errorf("%+v after %+v", cedar[0], cedar[1])
		}
	})
	t.Run("PMH-DEL-05 a deletion entry has no links", func(t *testing.T) {
		if len(cedar[0].Links) != 0 {
			t.Errorf("%+v", cedar[0].Links)
		}
	})
	t.Run("PMH-DEL-06 a deletion entry has empty content without attributes", func(t *testing.T) {
		if c := cedar[0].Contents; len(c) != 1 || c[0].Inner != "" || len(c[0].Attributes) != 0 {
			t.Errorf("%v", c)
		}
	})
	t.Run("PMH-HIS-02 an active entry becomes historical as it is", func(t *testing.T) {
		early := full(t).at(1, 0)
		was := early.feed("/atom/rivers")
		if d := cmp.Diff(said(entryOf(t, was, 0)), said(amber[1])); d != "" {
			t.Errorf("(-active +historical):\n%s", d)
		}
	})
	t.Run("PMH-CMP-01 the complete feed has all active entries and no other", func(t *testing.T) {
		f := w.feed("/atom/rivers/complete")
		if len(f.Complete) != 1 || len(f.Entries) != 2 || f.Entries[0].id() != "urn:river:birch" {
			t.Fatalf("%v, %d entries", f.Complete, len(f.Entries))
		}
		for i, e := range []*xmlEntry{birch[0], amber[0]} {
			if d := cmp.Diff(said(e), said(&f.Entries[i])); d != "" {
				t.Errorf("(-chain +complete):\n%s", d)
			}
		}
	})
	t.Run("PMH-CMP-03 without records the complete feed is empty and says so", func(t *testing.T) {
		f := parseFeed(t, newWorld(t, 3).get("/atom/rivers/complete"))
		if len(f.Complete) != 1 || len(f.Entries) != 0 || f.updated() != w.Set.Created {
			t.Errorf("%v, %d entries, updated %s", f.Complete, len(f.Entries), f.Updated)
		}
	})
	t.Run("PMH-RDC-01 an Atom representation has the plain Atom type", func(t *testing.T) {
		l := relation(amber[0].Links, "alternate")
		if last := l[len(l)-1]; *last.Type != "application/atom+xml" || last.Href != base+"/r/rivers/1/rdc.atom" {
			t.Errorf("%+v, %s", last, *last.Type)
		}
	})
}
