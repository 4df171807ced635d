package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gateway/model"
	"gateway/model/modeltest"
	"gateway/store"
)

// oddIdentifiers differ in bytes that databases like to equate.
var oddIdentifiers = []string{
	"urn:x:a", "urn:x:a ", "urn:x:A", "urn:x:caf\u00e9", "urn:x:cafe\u0301", "urn:x:%7E", "urn:x:~", "urn:x:%7e",
	"urn:x:" + strings.Repeat("long", 500), "urn:x:" + strings.Repeat("long", 500) + `'\"%_`,
}

// generator makes records that create, update, extend, shrink, reorder, retitle,
// delete and re-create.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 1))} }

func (g generator) batch() []model.Incoming {
	batch := make([]model.Incoming, 1+g.IntN(6))
	for i := range batch {
		batch[i] = g.incoming()
	}
	return batch
}

func (g generator) text() string { return [...]string{"alpha", "beta", "", "δέλτα"}[g.IntN(4)] }

func (g generator) incoming() model.Incoming {
	id := oddIdentifiers[g.IntN(len(oddIdentifiers))]
	if g.IntN(3) == 0 {
		id = fmt.Sprintf("urn:x:%d", g.IntN(12))
	}
	if g.IntN(4) == 0 {
		return deleted(id)
	}
	in := record(id, [...]string{"One", "Two & <three>", ""}[g.IntN(3)], g.text())
	add := func(r model.Resource, text string) {
		in.Record.Resources = append(in.Record.Resources, r)
		in.Bodies = append(in.Bodies, model.Body{Bytes: []byte(text)})
	}
	if text := g.text(); g.IntN(2) == 0 {
		add(modeltest.Text(model.Representation, "b.json", "application/json", text), text)
		if g.IntN(3) == 0 { // the order is part of the state
			slices.Reverse(in.Record.Resources)
			slices.Reverse(in.Bodies)
		}
	}
	if text := g.text(); g.IntN(3) == 0 {
		add(modeltest.Text(model.File, "f.pdf", [...]string{"application/pdf", "text/plain"}[g.IntN(2)], text), text)
	}
	if g.IntN(4) == 0 {
		add(model.Resource{Role: model.File, Name: "far.zip", Type: "application/zip", Href: "https://example.org/far.zip", Content: model.Content{Length: -1}}, "")
	}
	if g.IntN(2) == 0 {
		in.Record.Collections = []string{"theses", "größe"}[:1+g.IntN(2)]
	}
	if g.IntN(3) == 0 {
		in.Record.Links = []model.Link{{Rel: "describedby", Href: "https://example.org/about"}}
	}
	return in
}

// written is a batch that changed the log.
type written struct {
	batch []model.Incoming
	done  store.Committed
}

func (w *written) first() model.Position {
	for _, o := range w.done.Outcomes {
		if o.Kind != model.Same {
			return o.Position
		}
	}
	return 0
}

// testHistory lets two stores, as two processes, write one set at the same
// time and seal, while the inner check looks on. In the order in which the positions came out, the
// model must come to the same log.
func testHistory(t *testing.T, db Database) {
	stores := []*store.Store{open(t, db), open(t, db)}
	set := newSet(t, stores[0], "history", 7)
	var mu sync.Mutex
	var all []written
	var writers sync.WaitGroup
	for i, s := range stores {
		writers.Go(func() {
			g := newGenerator(uint64(i))
			for range 60 {
				batch := g.batch()
				done, err := s.Commit(t.Context(), set.ID, batch, store.CommitOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				if g.IntN(9) == 0 {
					if _, err := s.Seal(t.Context(), set.ID); err != nil {
						t.Error(err)
					}
				}
				mu.Lock()
				if w := (written{batch, done}); w.first() != 0 {
					all = append(all, w)
				}
				mu.Unlock()
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for checking := true; checking; {
		select {
		case <-done:
			checking = false
		default:
			checkClean(t, stores[1])
		}
	}
	slices.SortFunc(all, func(a, b written) int { return int(a.first() - b.first()) })
	m := replay(t, stores[0], set, all)
	compareLog(t, stores[1], set, m)
	checkClean(t, stores[0])
}

// replay brings what was written into a model, which takes its clock from the
// store's log and seals where the store sealed.
func replay(t *testing.T, s *store.Store, set model.Set, all []written) *modeltest.Log {
	t.Helper()
	m := modeltest.Of(set, "")
	log := logOf(t, s, set.ID)
	segments, err := s.Segments(t.Context(), set.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		for _, seg := range segments {
			if seg.Last == m.Head() {
				m.Seal()
			}
		}
		m.Clock = log[w.first()-1].Time
		records := make([]model.Record, len(w.batch))
		for i := range w.batch {
			records[i] = w.batch[i].Record
		}
		if diff := cmp.Diff(m.Commit(records...), w.done.Outcomes); diff != "" {
			t.Fatalf("outcomes of the batch at %d (-model +store):\n%s", w.first(), diff)
		}
	}
	for _, seg := range segments {
		if seg.Last == m.Head() {
			m.Seal()
		}
	}
	return m
}

// compareLog compares every iterator at every position with the model.
func compareLog(t *testing.T, s *store.Store, set model.Set, m *modeltest.Log) {
	t.Helper()
	segments, err := s.Segments(t.Context(), set.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "segments", m.Cut(), segments)
	for i, seg := range segments {
		one, err := s.Segment(t.Context(), set.ID, seg.Number)
		if err != nil || one != seg {
			t.Errorf("segment %d is %+v, %v", i+1, one, err)
		}
	}
	head := m.Head()
	equal(t, "log", collect(t, m.Changes(t.Context(), set.ID, 0, head)), logOf(t, s, set.ID))
	for p := model.Position(0); p <= head; p += stride {
		want := collect(t, m.States(t.Context(), set.ID, p, 0))
		equal(t, fmt.Sprintf("states at %d", p), want, collect(t, s.States(t.Context(), set.ID, p, 0)))
		if len(want) > 2 {
			equal(t, fmt.Sprintf("the last states at %d", p), want[len(want)-2:], collect(t, s.States(t.Context(), set.ID, p, want[len(want)-3].Record)))
		}
		from := max(0, p-10)
		equal(t, fmt.Sprintf("changes from %d to %d", from, p),
			collect(t, m.Changes(t.Context(), set.ID, from, p)), collect(t, s.Changes(t.Context(), set.ID, from, p)))
	}
	v := view(t, s, set)
	equal(t, "head", m.View(head, 0).Head, v.Head)
	compareRecords(t, s, set, m)
}

// compareRecords compares the newest changes of all records, and that their
// content is what came in.
func compareRecords(t *testing.T, s *store.Store, set model.Set, m *modeltest.Log) {
	t.Helper()
	newest := map[model.RecordNumber]*model.Change{}
	for p := range m.Head() {
		c := m.At(p + 1)
		newest[c.Record] = c
	}
	for number, want := range newest {
		got, err := s.Record(t.Context(), set.ID, number)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprintf("record %d", number), want, got)
		got, err = s.RecordByIdentifier(t.Context(), set.ID, want.Identifier)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprintf("record %q", want.Identifier), want, got)
		for _, r := range got.Resources {
			if r.External() {
				continue
			}
			kept, err := s.OpenContent(t.Context(), set.ID, r.Key)
			if text := readAll(t, kept, err); modeltest.ContentOf(text) != r.Content {
				t.Errorf("record %d, %s: content %q is not what came in", number, r.Name, text)
			}
		}
	}
}

func collect(t *testing.T, seq func(func(*model.Change, error) bool)) []*model.Change {
	t.Helper()
	var all []*model.Change
	for c, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, clone(c))
	}
	return all
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // much faster
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// testConcurrentWriters lets many writers of two stores add single records: none
// is lost, none is doubled.
func testConcurrentWriters(t *testing.T, db Database) {
	stores := []*store.Store{open(t, db), open(t, db)}
	set := newSet(t, stores[0], "many", 10)
	const writers, each = 8, 12
	var group sync.WaitGroup
	for w := range writers {
		s := stores[w%2]
		group.Go(func() {
			for i := range each {
				in := record(fmt.Sprintf("urn:x:%d:%d", w, i), "T", "text")
				if _, err := s.Commit(context.Background(), set.ID, []model.Incoming{in}, store.CommitOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	log := logOf(t, stores[0], set.ID) // which checks that no position is missing
	seen := map[string]bool{}
	for _, c := range log {
		if seen[c.Identifier] || c.Kind != model.Created {
			t.Errorf("change %d of %s is %v", c.Position, c.Identifier, c.Kind)
		}
		seen[c.Identifier] = true
	}
	if len(log) != writers*each {
		t.Errorf("%d changes, want %d", len(log), writers*each)
	}
	checkClean(t, stores[1])
}
