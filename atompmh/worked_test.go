package atompmh_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gateway/model"
	"gateway/model/modeltest"
)

// fill commits n records that are new, each in a second of its own.
func (w *world) fill(n int) *world {
	for range n {
		w.Clock += 1_000_000
		w.Commit(rivers(int(w.Head()) + 1))
	}
	return w
}

// rivers is the i-th of many records.
func rivers(i int) model.Record {
	return model.Record{Identifier: fmt.Sprintf("urn:river:%d", i), State: model.State{
		Title:     fmt.Sprintf("River %d", i),
		Resources: []model.Resource{modeltest.Text(model.Representation, "dc.xml", "application/xml", fmt.Sprint(i))},
	}}
}

// outline is a document in a few words: the entries it has, by the numbers of
// their positions, when it is updated, and its links and mark.
func (w *world) outline(path string) string {
	b := w.get(path)
	if b == nil {
		return "none"
	}
	f := parseFeed(w.t, b)
	positions := map[model.Time]model.Position{w.Set.Created: 0}
	for p := model.Position(1); p <= w.Head(); p++ {
		positions[w.At(p).Time] = p
	}
	var s strings.Builder
	for i := range f.Entries {
		fmt.Fprintf(&s, "%d ", positions[f.Entries[i].updated()])
	}
	fmt.Fprintf(&s, "| t%d |", positions[f.updated()])
	for _, rel := range []string{"prev-archive", "next-archive"} {
		if href := f.link(rel); href != "" {
			fmt.Fprintf(&s, " %s %s", rel, strings.TrimPrefix(href, base+"/atom/rivers/1/"))
		}
	}
	if len(f.Archive) > 0 {
		s.WriteString(" fh:archive")
	}
	return s.String()
}

// TestWorkedHistory follows eleven changes in segments of five.
func TestWorkedHistory(t *testing.T) {
	const (
		subscription = "/atom/rivers"
		archive1     = "/atom/rivers/1/archive/1"
		archive2     = "/atom/rivers/1/archive/2"
		archive3     = "/atom/rivers/1/archive/3"
	)
	type documents map[string]string
	for _, row := range []struct {
		name      string
		position  model.Position
		published model.SegmentNumber
		want      documents
	}{
		{"before the first change", 0, 0, documents{subscription: "| t0 |", archive1: "none"}},
		{"at 4", 4, 0, documents{subscription: "4 3 2 1 | t4 |", archive1: "none"}},
		{"at 5, cut and waiting", 5, 0, documents{subscription: "5 4 3 2 1 | t5 |", archive1: "none"}},
		{"at 5, published", 5, 1, documents{subscription: "5 4 3 2 1 | t5 |", archive1: "5 4 3 2 1 | t5 | fh:archive", archive2: "none"}},
		{"at 6", 6, 1, documents{subscription: "6 5 4 3 2 1 | t6 |", archive1: "5 4 3 2 1 | t5 | fh:archive"}},
		{"at 10, cut and waiting", 10, 1, documents{subscription: "10 9 8 7 6 5 4 3 2 1 | t10 |", archive2: "none"}},
		{"at 11, still waiting", 11, 1, documents{subscription: "10 9 8 7 6 5 4 3 2 1 | t10 |", archive1: "5 4 3 2 1 | t5 | fh:archive"}},
		{"at 11, both waiting", 11, 0, documents{subscription: "5 4 3 2 1 | t5 |", archive1: "none"}},
		{"at 10, published", 10, 2, documents{subscription: "10 9 8 7 6 | t10 | prev-archive archive/1"}},
		{"at 11, published", 11, 2, documents{
			subscription: "11 10 9 8 7 6 | t11 | prev-archive archive/1",
			archive1:     "5 4 3 2 1 | t5 | next-archive archive/2 fh:archive",
			archive2:     "10 9 8 7 6 | t10 | prev-archive archive/1 fh:archive",
			archive3:     "none",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, 5).fill(11)
			w.at(row.position, row.published)
			got := documents{}
			for path := range row.want {
				got[path] = w.outline(path)
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			w.check()
		})
	}
	t.Run("publishing the first segment changes no byte of the subscription document", func(t *testing.T) {
		w := newWorld(t, 5).fill(5)
		before := w.at(5, 0).get(subscription)
		if d := cmp.Diff(string(before), string(w.at(5, 1).get(subscription))); d != "" {
			t.Errorf("(-waiting +published):\n%s", d)
		}
	})
}
