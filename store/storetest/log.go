package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gateway/model"
	"gateway/model/modeltest"
	"gateway/store"
)

// testUnchanged commits what is there already: nothing is written.
func testUnchanged(t *testing.T, db Database) {
	s := open(t, db)
	set := newSet(t, s, "unchanged", 10)
	batch := []model.Incoming{record("urn:x:1", "One", "a"), record("urn:x:2", "Two", "b"), deleted("urn:x:3")}
	commit(t, s, set.ID, batch...)
	before := view(t, s, set)
	batch[0].Record.Modified = "2020-01-01" // is no change by itself
	done := commit(t, s, set.ID, batch...)
	equal(t, "outcomes", []model.Outcome{{Number: 1, Position: 1}, {Number: 2, Position: 2}, {}}, done.Outcomes)
	equal(t, "view", before, view(t, s, set))
	if done.Head != 2 {
		t.Errorf("head %d, want 2", done.Head)
	}
	if done = commit(t, s, set.ID); done.Head != 2 {
		t.Errorf("head %d after an empty batch, want 2", done.Head)
	}
}

// testIdentifiers holds identifiers apart that differ in bytes only, and gives a
// record that comes back its old number.
func testIdentifiers(t *testing.T, db Database) {
	s := open(t, db)
	set := newSet(t, s, "identifiers", 100)
	for i, id := range oddIdentifiers {
		done := commit(t, s, set.ID, record(id, "T", id))
		if o := done.Outcomes[0]; o.Kind != model.Created || int(o.Number) != i+1 {
			t.Errorf("%q became %+v", id, o)
		}
	}
	for i, id := range oddIdentifiers {
		c, err := s.RecordByIdentifier(t.Context(), set.ID, id)
		if err != nil || int(c.Record) != i+1 || c.Identifier != id {
			t.Errorf("%q finds %+v, %v", id, c, err)
		}
	}
	if _, err := s.RecordByIdentifier(t.Context(), set.ID, "urn:x:nobody"); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("an unknown identifier: %v", err)
	}
	if _, err := s.Record(t.Context(), set.ID, 99); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("an unknown number: %v", err)
	}
	done := commit(t, s, set.ID, deleted(oddIdentifiers[2]), record(oddIdentifiers[2], "Again", "x"))
	for i, want := range []model.Kind{model.Deleted, model.Created} {
		if o := done.Outcomes[i]; o.Number != 3 || o.Kind != want {
			t.Errorf("outcome %d is %+v, want %v of record 3", i, o, want)
		}
	}
	checkClean(t, s)
}

// testPrecondition rejects a record that is not where the caller thinks, and
// only that one.
func testPrecondition(t *testing.T, db Database) {
	s := open(t, db)
	set := newSet(t, s, "precondition", 100)
	commit(t, s, set.ID, record("urn:x:1", "One", "a"))
	if_ := func(in model.Incoming, p model.Position) model.Incoming {
		in.IfPosition = &p
		return in
	}
	done, err := s.Commit(t.Context(), set.ID, []model.Incoming{
		if_(record("urn:x:1", "One!", "a"), 0),
		if_(record("urn:x:2", "Two", "b"), 1),
		if_(record("urn:x:1", "One!", "a"), 1),
		if_(record("urn:x:3", "Three", "c"), 0),
		if_(deleted("urn:x:1"), 1), // the record before last moved it to 2
	}, store.CommitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range done.Outcomes {
		got = append(got, fmt.Sprint(o.Number, " ", o.Position, " ", o.Kind, " ", errors.Is(o.Err, model.ErrPrecondition)))
	}
	equal(t, "outcomes", []string{"1 1 same true", "0 0 same true", "1 2 updated false", "2 3 created false", "1 2 same true"}, got)
	checkClean(t, s)
}

// testLimits cuts before a change that would not fit the document.
func testLimits(t *testing.T, db Database) {
	limits := model.Limits{Entries: 5}
	s := open(t, db, func(c *store.Config) { c.Limits = limits })
	set := newSet(t, s, "limits", 100)
	m := modeltest.Of(set, "")
	m.Limits = limits
	batch := []model.Incoming{
		record("urn:x:1", "", "a", "b", "c"), record("urn:x:2", "", "a", "b"), record("urn:x:3", "", "a"),
		record("urn:x:1", "", "a", "b", "d"), record("urn:x:4", "", "a", "b", "c", "d"),
	}
	commit(t, s, set.ID, batch...)
	m.Clock = logOf(t, s, set.ID)[0].Time
	for i := range batch {
		m.Commit(batch[i].Record)
	}
	if len(m.Cut()) < 2 {
		t.Fatal("the model does not cut")
	}
	compareLog(t, s, set, m)
	checkClean(t, s)
}

// testSegmentSize changes the size while there is a tail, which keeps its own.
func testSegmentSize(t *testing.T, db Database) {
	s := open(t, db)
	set := newSet(t, s, "size", 4)
	one := func(i int) { commit(t, s, set.ID, record(fmt.Sprintf("urn:x:%d", i), "T", "a")) }
	one(1)
	one(2)
	_, err := s.UpdateSet(t.Context(), set.Name, func(set *model.Set) error { return set.Policy.Set("segment_size", "2") })
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		one(3 + i)
	}
	segments, err := s.Segments(t.Context(), set.ID, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var last []model.Position
	for _, seg := range segments {
		last = append(last, seg.Last)
	}
	equal(t, "cuts", []model.Position{4, 6}, last)
	checkClean(t, s)
}

// testFaults fails every step of a commit, a seal, a publication and the
// creation of a set, before and after it took effect, with a lost connection and
// with an error that ends the attempt.
func testFaults(t *testing.T, db Database) {
	var step string
	var failures int
	var failure error
	s := open(t, db, func(c *store.Config) {
		c.Fault = func(at string) error {
			if at == step && failures > 0 {
				failures--
				return failure
			}
			return nil
		}
	})
	n := 0
	for _, at := range []string{store.FaultBegin, store.FaultLocked, store.FaultWritten, store.FaultCommitBefore, store.FaultCommitAfter} {
		for times := 1; times <= 3; times++ {
			n++
			name := fmt.Sprintf("s%d", n)
			step, failures, failure = at, times, fmt.Errorf("at %s: %w", at, store.ErrLost)
			set, err := s.CreateSet(t.Context(), model.Set{Name: name, Policy: model.DefaultPolicy()})
			if err != nil {
				t.Fatalf("create a set, %d × lost at %s: %v", times, at, err)
			}
			failures = times
			done, err := s.Commit(t.Context(), set.ID, []model.Incoming{record("urn:x:1", "One", "a"), record("urn:x:2", "Two", "b")}, store.CommitOptions{})
			if err != nil {
				t.Fatalf("commit, %d × lost at %s: %v", times, at, err)
			}
			equal(t, "outcomes", []model.Outcome{{Number: 1, Position: 1, Kind: model.Created}, {Number: 2, Position: 2, Kind: model.Created}}, done.Outcomes)
			failures = times
			if sealed, err := s.Seal(t.Context(), set.ID); err != nil || !sealed {
				t.Fatalf("seal, %d × lost at %s: %v, %v", times, at, sealed, err)
			}
			failures = times
			publication := model.Publication{Set: set.ID, Epoch: 1, Advances: []model.Advance{{Renderer: atom, From: 0, To: 1}}}
			if err := s.Publish(t.Context(), publication); err != nil {
				t.Fatalf("publish, %d × lost at %s: %v", times, at, err)
			}
			failures = 0
			if v := view(t, s, set); v.Head.Position != 2 || v.Head.Segments != 1 {
				t.Errorf("%d × lost at %s: the head is %+v", times, at, v.Head)
			}
		}
		// Not lost but broken: the caller hears of it, and the log has all or
		// nothing.
		set := newSet(t, s, "broken"+fmt.Sprint(n), 10)
		step, failures, failure = at, 1, errors.New("out of order")
		if _, err := s.Commit(t.Context(), set.ID, []model.Incoming{record("urn:x:1", "One", "a")}, store.CommitOptions{}); err == nil {
			t.Errorf("broken at %s: no error", at)
		}
		want := model.Position(0)
		if at == store.FaultCommitAfter {
			want = 1
		}
		if v := view(t, s, set); v.Head.Position != want {
			t.Errorf("broken at %s: the head is at %d, want %d", at, v.Head.Position, want)
		}
	}
	checkClean(t, s)
}

// testSchemaSteps breaks the making of tables off after each statement.
func testSchemaSteps(t *testing.T, db Database) {
	broken := errors.New("power cut")
	for n := 1; ; n += stride {
		left := n
		s, err := store.Open(t.Context(), config(db, func(c *store.Config) {
			c.Fault = func(step string) error {
				if step == store.FaultSchema {
					if left--; left == 0 {
						return broken
					}
				}
				return nil
			}
		}))
		if err == nil {
			defer s.Close()
			if n < 10 {
				t.Errorf("%d statements make all tables", n)
			}
			set := newSet(t, s, "after", 2)
			commit(t, s, set.ID, record("urn:x:1", "One", "a"), record("urn:x:2", "Two", "b"))
			checkClean(t, s)
			return
		}
		if !errors.Is(err, broken) {
			t.Fatalf("after statement %d: %v", n, err)
		}
	}
}

// testNewerSchema leaves a database alone that a newer program has taken over.
func testNewerSchema(t *testing.T, db Database) {
	s := open(t, db)
	set := newSet(t, s, "newer", 2)
	db.exec(t, "UPDATE meta SET value = '99' WHERE name = 'writer'")
	_, err := s.Commit(t.Context(), set.ID, []model.Incoming{record("urn:x:1", "One", "a")}, store.CommitOptions{})
	wantNewer := func(err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "newer gateway") {
			t.Errorf("error %v, want one that says that the gateway is newer", err)
		}
	}
	wantNewer(err)
	wantNewer(s.Ready(t.Context()))
	_, err = store.Open(t.Context(), config(db))
	wantNewer(err)
}

// testOldTokens keeps the tokens of writes for a day and not for ever.
func testOldTokens(t *testing.T, db Database) {
	s := open(t, db)
	set := newSet(t, s, "tokens", 1000)
	const before, after = 60, 70
	for i := range before + after {
		if i == before {
			db.exec(t, "UPDATE writes SET at = ?", time.Now().Add(-25*time.Hour).UnixMicro())
		}
		commit(t, s, set.ID, record(fmt.Sprintf("urn:x:%d", i), "T", ""))
	}
	var n int
	if err := db.SQL.QueryRow("SELECT COUNT(*) FROM writes").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != after {
		t.Errorf("%d tokens are left, want the %d of today", n, after)
	}
}
