package resourcesync_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gateway/model"
	"gateway/model/modeltest"
	"gateway/resourcesync"
)

// TestWorkedHistory follows a set of eleven changes in segments of five. A step
// is the position shown and the published segment; the lists are written as
// [from, until] and the changes in them.
func TestWorkedHistory(t *testing.T) {
	w := newWorld(t, model.Limits{})
	w.Set.Policy.SegmentSize = 5
	names := map[string]string{modeltest.Start.String(): "T0"}
	for i := 1; i <= 11; i++ {
		at := w.Clock + 1_000_000
		w.Clock = at
		w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), State: model.State{
			Resources: []model.Resource{w.text(model.Representation, "dc.xml", "application/xml", fmt.Sprint(i))},
		}})
		names[at.String()] = fmt.Sprint("t", i)
	}
	for i, seg := range w.Cut() {
		names[seg.Until.String()] = fmt.Sprint("B", i+1)
		if last := w.At(seg.Last); seg.Until != last.Time+1 {
			t.Errorf("B%d is %v, its last change at %v", i+1, seg.Until, last.Time)
		}
	}

	for _, step := range []struct {
		position  model.Position
		published model.SegmentNumber
		want      string
	}{
		{0, 0, "from T0: [T0, open]"},
		{4, 0, "from T0: [T0, open] 1 2 3 4"},
		{5, 0, "from T0: [T0, open] 1 2 3 4 5"},
		{5, 1, "from T0: [T0, B1] 1 2 3 4 5; [B1, open]"},
		{6, 1, "from T0: [T0, B1] 1 2 3 4 5; [B1, open] 6"},
		{10, 1, "from T0: [T0, B1] 1 2 3 4 5; [B1, open] 6 7 8 9 10"},
		{11, 1, "from T0: [T0, B1] 1 2 3 4 5; [B1, open] 6 7 8 9 10"}, // one more segment at most
		{11, 2, "from T0: [T0, B1] 1 2 3 4 5; [B1, B2] 6 7 8 9 10; [B2, open] 11"},
	} {
		w.show(step.position, step.published)
		if got := w.lists(names); got != step.want {
			t.Errorf("position %d, published %d:\n got %s\nwant %s", step.position, step.published, got, step.want)
		}
		w.checkFolds(nil)
	}

	w.show(7, 1)
	s := w.copySnapshot(7, w.view().Head.Time)
	if names[s.at] != "t7" {
		t.Errorf("at of the snapshot at 7 is %s", s.at)
	}
	w.showAll()
	w.checkFolds([]snapshotCopy{s})
	var later []string
	for _, d := range w.changeLists() {
		for _, e := range d.URLs {
			if e.About().DateTime > s.at {
				later = append(later, names[e.About().DateTime])
			}
		}
	}
	if diff := cmp.Diff([]string{"t8", "t9", "t10", "t11"}, later); diff != "" {
		t.Errorf("a destination goes on from the snapshot with\n%s", diff)
	}
}

// lists writes the change lists that are shown.
func (w *world) lists(names map[string]string) string {
	var lists []string
	for _, d := range w.changeLists() {
		until := "open"
		if d.MD[0].Until != "" {
			until = names[d.MD[0].Until]
		}
		s := fmt.Sprintf("[%s, %s]", names[d.MD[0].From], until)
		for _, e := range d.URLs {
			s += " " + strings.TrimPrefix(names[e.About().DateTime], "t")
		}
		lists = append(lists, s)
	}
	index := w.parse(resourcesync.ChangeListIndexPath(w.Set.Name))
	return "from " + names[index.MD[0].From] + ": " + strings.Join(lists, "; ")
}

// A list that was named keeps its bytes when it is closed but for until, and
// from then on whatever happens.
func TestClosedListStays(t *testing.T) {
	w := newWorld(t, model.Limits{})
	w.Set.Policy.SegmentSize = 2
	path := resourcesync.ChangeList{Set: w.Set.Name, Epoch: 1, Segment: 1}.Path()
	commit := func(n int) {
		w.Commit(model.Record{Identifier: "urn:example:1", State: model.State{
			Resources: []model.Resource{w.text(model.Representation, "dc.xml", "application/xml", fmt.Sprint(n))},
		}})
	}
	commit(1)
	commit(2)
	w.show(2, 0)
	open := string(w.get(path))
	w.show(2, 1)
	closed := string(w.get(path))
	until := ` until="` + w.Cut()[0].Until.String() + `"`
	if strings.Replace(closed, until, "", 1) != open {
		t.Errorf("open\n%s\nclosed\n%s", open, closed)
	}
	for n := 3; n < 8; n++ {
		commit(n)
		w.showAll()
		if got := string(w.get(path)); got != closed {
			t.Errorf("RS-TIME-06 a closed list changed:\n%s\n%s", closed, got)
		}
	}

	// Whatever the view of the publisher, the bytes are the same.
	again := newWorld(t, model.Limits{})
	again.Log = w.Log
	v := w.Log.View(w.Head(), 0)
	if err := again.renderer.Seal(t.Context(), w, v, w.Cut()[0], sink{again}); err != nil {
		t.Fatal(err)
	}
	again.show(2, 1)
	if got := string(again.get(path)); got != closed {
		t.Errorf("sealed again:\n%s\n%s", closed, got)
	}
	if a := w.ask(http.MethodGet, path); a.Header().Get("Last-Modified") != w.Cut()[0].Until.Time().Format(http.TimeFormat) {
		t.Errorf("Last-Modified %q", a.Header().Get("Last-Modified"))
	}
}
