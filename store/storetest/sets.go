package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gateway/model"
	"gateway/store"
)

// testSets creates, reads and changes sets.
func testSets(t *testing.T, db Database) {
	s := open(t, db)
	if err := s.SetBaseURL(t.Context(), "https://a.example/base", false); err != nil {
		t.Fatal(err)
	}
	if err := s.SetBaseURL(t.Context(), "https://b.example/base", true); err != nil {
		t.Fatal(err)
	}
	url, explicit, err := s.BaseURLOrigin(t.Context())
	if err != nil || url != "https://b.example/base" || !explicit {
		t.Errorf("base URL %q, %v, %v", url, explicit, err)
	}
	id, err := s.DatabaseID(t.Context())
	if err != nil || id == "" {
		t.Errorf("database id %q, %v", id, err)
	}
	if other, _ := open(t, db).DatabaseID(t.Context()); other != id {
		t.Errorf("the database has the ids %q and %q", id, other)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}

	set := newSet(t, s, "papers", 7)
	if set.FeedID == "" || set.FeedID == set.CompleteID {
		t.Errorf("feed ids %q and %q", set.FeedID, set.CompleteID)
	}
	if _, err := s.CreateSet(t.Context(), model.Set{Name: "papers", Policy: model.DefaultPolicy()}); !errors.Is(err, model.ErrExists) {
		t.Errorf("create it again: %v", err)
	}
	got, err := s.Set(t.Context(), "papers")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "set", set, got)
	if _, err := s.Set(t.Context(), "Papers"); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("a set of another name: %v", err)
	}

	changed, err := s.UpdateSet(t.Context(), "papers", func(set *model.Set) error {
		set.Title, set.Author.Name, set.FeedID, set.Name = "Papers & more", "Ann", "urn:other", "other"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := set
	want.Title, want.Author.Name, want.Modified = "Papers & more", "Ann", changed.Modified
	equal(t, "changed set", want, changed)
	if changed.Modified <= set.Modified {
		t.Errorf("modified %v, before %v", changed.Modified, set.Modified)
	}
	refused := errors.New("no")
	if _, err := s.UpdateSet(t.Context(), "papers", func(*model.Set) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a refused change: %v", err)
	}
	var field *model.FieldError
	if _, err := s.UpdateSet(t.Context(), "papers", func(set *model.Set) error { set.Private = true; return nil }); !errors.As(err, &field) {
		t.Errorf("a change that is not valid: %v", err)
	}
	got, err = s.Set(t.Context(), "papers")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "changed set", changed, got)

	var group sync.WaitGroup
	for i := range 8 { // at once: no two get one id
		group.Go(func() {
			if _, err := s.CreateSet(t.Context(), model.Set{Name: fmt.Sprintf("set%d", i), Policy: model.DefaultPolicy()}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var names []string
	for after := ""; ; {
		page, err := s.Views(t.Context(), after, 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for i := range page {
			after = page[i].Set.Name
			names = append(names, after)
		}
	}
	equal(t, "names", []string{"papers", "set0", "set1", "set2", "set3", "set4", "set5", "set6", "set7"}, names)
	checkClean(t, s)
}

// testViews shows own writes at once and those of others soon, and all of a view
// as of one moment.
func testViews(t *testing.T, db Database) {
	s, other := open(t, db), open(t, db)
	if err := s.SetBaseURL(t.Context(), "https://b.example", true); err != nil {
		t.Fatal(err)
	}
	set := newSet(t, s, "views", 2)
	get := func(s *store.Store, renderer string) model.View {
		t.Helper()
		v, err := s.View(t.Context(), set.Name, renderer)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := get(s, atom)
	equal(t, "a new set", model.View{
		Set: set, Revision: 1, Ready: true,
		Epoch:    model.Epoch{Number: 1, Reason: "created", BaseURL: "https://b.example", From: set.Created, Began: set.Created},
		Head:     model.Head{Time: set.Created, Changed: set.Created},
		Snapshot: model.Snapshot{Epoch: 1, At: set.Created},
	}, v)
	for i := range 5 {
		commit(t, s, set.ID, record(fmt.Sprintf("urn:x:%d", i), "T", "a"))
		next := get(s, atom)
		if next.Head.Position != model.Position(i+1) || next.Revision <= v.Revision {
			t.Errorf("after commit %d: head %d, revision %d", i+1, next.Head.Position, next.Revision)
		}
		v = next
	}
	for deadline := time.Now().Add(10 * time.Second); get(other, atom).Head.Position != 5; {
		if time.Now().After(deadline) {
			t.Fatal("another process does not see the commits")
		}
	}
	publication := model.Publication{Set: set.ID, Epoch: 1, Advances: []model.Advance{{Renderer: atom, From: 0, To: 1}}}
	if err := s.Publish(t.Context(), publication); err != nil {
		t.Fatal(err)
	}
	segments, err := s.Segments(t.Context(), set.ID, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	v = get(s, atom)
	equal(t, "published", segments[0], v.Published)
	equal(t, "next", &segments[1], v.Next)
	v = get(s, rs)
	equal(t, "published by the other renderer", model.Segment{}, v.Published)
	equal(t, "next of the other renderer", &segments[0], v.Next)
	if _, err := s.View(t.Context(), "nobody", atom); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("an unknown set: %v", err)
	}
}

// testLeases gives one holder at a time the lease, on the database's clock.
func testLeases(t *testing.T, db Database) {
	s, other := open(t, db), open(t, db)
	set := newSet(t, s, "leases", 2)
	lease := func(s *store.Store, holder string, d time.Duration, want bool) {
		t.Helper()
		if ok, err := s.Lease(t.Context(), set.ID, holder, d); err != nil || ok != want {
			t.Fatalf("lease for %s: %v, %v; want %v", holder, ok, err, want)
		}
	}
	release := func(holder string) {
		t.Helper()
		if err := other.Release(t.Context(), set.ID, holder); err != nil {
			t.Fatal(err)
		}
	}
	holder := func(want string) {
		t.Helper()
		if b, err := s.Backlog(t.Context(), set.ID); err != nil || b.Holder != want {
			t.Fatalf("the backlog names the holder %q, %v; want %q", b.Holder, err, want)
		}
	}
	holder("")
	lease(s, "a", time.Hour, true)
	holder("a")
	lease(other, "b", time.Hour, false)
	lease(s, "a", 3*time.Hour, true)
	release("b")
	lease(other, "b", time.Hour, false)
	release("a")
	lease(other, "b", 0, true) // is over at once
	holder("")
	lease(s, "a", time.Hour, true)
	if ok, err := s.Lease(t.Context(), set.ID+1, "c", time.Hour); err != nil || !ok {
		t.Errorf("the lease of another set: %v, %v", ok, err)
	}
	release("a")
	var won sync.Map
	var group sync.WaitGroup
	for i, s := range []*store.Store{s, other, s, other} {
		group.Go(func() {
			ok, err := s.Lease(t.Context(), set.ID, fmt.Sprint("racer ", i), time.Hour)
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Store(i, true)
			}
		})
	}
	group.Wait()
	n := 0
	won.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d holders have the lease", n)
	}
}

// testHold takes the lease with a commit.
func testHold(t *testing.T, db Database) {
	s := open(t, db)
	set := newSet(t, s, "hold", 2)
	hold := func(holder string, want bool, batch ...model.Incoming) {
		t.Helper()
		done, err := s.Commit(t.Context(), set.ID, batch, store.CommitOptions{Hold: holder, HoldFor: time.Hour})
		if err != nil || done.Held != want {
			t.Fatalf("commit and hold for %s: %v, %v; want %v", holder, done.Held, err, want)
		}
	}
	hold("a", false) // nothing was written
	hold("a", true, record("urn:x:1", "One", "a"))
	hold("a", true)
	hold("b", false, record("urn:x:2", "Two", "a"))
	if err := s.Release(t.Context(), set.ID, "a"); err != nil {
		t.Fatal(err)
	}
	hold("b", true, record("urn:x:3", "Three", "a"))
	if ok, err := s.Lease(t.Context(), set.ID, "a", time.Hour); err != nil || ok {
		t.Errorf("lease beside a hold: %v, %v", ok, err)
	}
}
