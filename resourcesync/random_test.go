package resourcesync_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gateway/model"
)

// TestRandomHistories folds the documents of random histories at every position
// and every published segment, from nothing and from a snapshot at every
// position, and compares with the model.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limits := model.Limits{Entries: rapid.IntRange(5, 12).Draw(r, "entries")}
		w := newWorld(quietly{t, r}, limits)
		w.Set.Policy.SegmentSize = rapid.IntRange(1, 7).Draw(r, "segment size")
		h := history{t: r, w: w, records: map[string]*model.Record{}}
		for range rapid.IntRange(1, 24).Draw(r, "steps") {
			h.step()
		}

		var snapshots []snapshotCopy
		for p := model.Position(0); p <= w.Head(); p++ {
			w.show(p, 0)
			snapshots = append(snapshots, w.copySnapshot(p, w.view().Head.Changed))
			if v := w.view(); v.Head.Time != v.Head.Changed { // right after a cut
				snapshots = append(snapshots, w.copySnapshot(p, v.Head.Time))
			}
		}
		for p := model.Position(0); p <= w.Head(); p++ {
			w.show(p, 0)
			for n := range w.view().Head.Segments + 1 {
				w.show(p, n)
				w.checkFolds(snapshots)
				w.checkDumps()
			}
		}
	})
}

// quietly is the T of a world in a random history.
type quietly struct {
	testing.TB
	r *rapid.T
}

func (q quietly) Helper()                           {}
func (q quietly) Errorf(format string, args ...any) { q.r.Errorf(format, args...) }
func (q quietly) Fatalf(format string, args ...any) { q.r.Fatalf(format, args...) }
func (q quietly) Fatal(args ...any)                 { q.r.Fatal(args...) }

// history commits random changes of a few records.
type history struct {
	t       *rapid.T
	w       *world
	records map[string]*model.Record
	count   int
}

func (h *history) step() {
	id := fmt.Sprintf("urn:example:%d", rapid.IntRange(1, 4).Draw(h.t, "record"))
	rec := h.records[id]
	if rec == nil {
		rec = &model.Record{Identifier: id}
		h.records[id] = rec
	}
	if len(rec.Resources) == 0 || rec.Deleted {
		rec.Deleted = false
		rec.Resources = slices.Concat(
			[]model.Resource{h.hosted(model.Representation, "dc.xml")},
			h.some(model.Representation, "record.json"), h.some(model.File, "a b.pdf"), h.some(model.File, "ä&<.zip"))
	}
	switch rapid.SampledFrom([]string{"title", "content", "toggle", "toggle", "profile", "delete", "seal"}).Draw(h.t, "what") {
	case "title":
		h.count++
		rec.Title = fmt.Sprint("title ", h.count)
	case "content":
		i := rapid.IntRange(0, len(rec.Resources)-1).Draw(h.t, "resource")
		rec.Resources[i] = h.hosted(rec.Resources[i].Role, rec.Resources[i].Name)
	case "toggle":
		h.toggle(rec)
	case "profile":
		rec.Resources[0].Profile = rapid.SampledFrom([]string{"", "https://example.org/a?b=1&c=2"}).Draw(h.t, "profile")
	case "delete":
		rec.Deleted = true
	case "seal":
		h.w.Seal()
		return
	}
	commit := model.Record{Identifier: id, Deleted: rec.Deleted}
	if !rec.Deleted {
		commit.State = rec.State
		commit.Resources = slices.Clone(rec.Resources)
	}
	h.w.Commit(commit)
}

// toggle adds or takes away a resource, or moves it between hosted and external.
func (h *history) toggle(rec *model.Record) {
	name := rapid.SampledFrom([]string{"record.json", "a b.pdf", "ä&<.zip"}).Draw(h.t, "toggled")
	role := model.File
	if name == "record.json" {
		role = model.Representation
	}
	rec.Resources = slices.DeleteFunc(rec.Resources, func(r model.Resource) bool { return r.Name == name })
	rec.Resources = append(rec.Resources, h.some(role, name)...)
	slices.SortStableFunc(rec.Resources, func(a, b model.Resource) int { return int(a.Role) - int(b.Role) })
}

// some is a resource, hosted or external, or none.
func (h *history) some(role model.Role, name string) []model.Resource {
	switch rapid.SampledFrom([]string{"hosted", "external", "none"}).Draw(h.t, name) {
	case "hosted":
		return []model.Resource{h.hosted(role, name)}
	case "external":
		return []model.Resource{{Role: role, Name: name, Type: "application/zip", Href: "https://elsewhere.example/" + name, Content: model.Content{Length: -1}}}
	}
	return nil
}

func (h *history) hosted(role model.Role, name string) model.Resource {
	content := rapid.SampledFrom([]string{"", "one", "two"}).Draw(h.t, "content")
	if content == "two" {
		return h.w.deflated(role, name, "application/xml; charset=utf-8", content)
	}
	return h.w.text(role, name, "application/xml; charset=utf-8", content)
}
