package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"gateway/model"
	"gateway/publish"
)

func record(n int, content string) model.Record {
	id := fmt.Sprintf("urn:example:%d", n)
	return model.Record{Identifier: id, State: model.State{Resources: []model.Resource{{
		Name: "r.txt", Type: "text/plain",
		Content: model.Content{Length: int64(len(content)), Stored: int64(len(content)), SHA256: [32]byte{byte(len(content)), 1}},
	}}}}
}

func deleted(n int) model.Record {
	return model.Record{Identifier: fmt.Sprintf("urn:example:%d", n), Deleted: true}
}

func newPublisher(m *memory, limits model.Limits, renderers ...publish.Renderer) *publish.Publisher {
	c := publish.Config{Limits: limits, Now: m.clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Renderers: renderers}
	for _, r := range renderers {
		if s, ok := r.(publish.SnapshotRenderer); ok && r.Name() == "a" {
			c.Snapshots = append(c.Snapshots, s)
		}
	}
	return publish.New(m, bucket{m}, c)
}

// check reads everything published and compares it with the log: the segments
// published are all there, in full, for both renderers, and so is the newest
// snapshot.
func check(t *testing.T, m *memory) {
	t.Helper()
	for _, name := range []string{"a", "b"} {
		for _, seg := range m.Cut()[:m.positions[name]] {
			var want strings.Builder
			for p := seg.First; p <= seg.Last; p++ {
				fmt.Fprintf(&want, "%d %s\n", p, m.At(p).Identifier)
			}
			if got := m.read(fmt.Sprintf("/%s/%d", name, seg.Number)); got != want.String() {
				t.Errorf("renderer %s, segment %d: got\n%s\nwant\n%s", name, seg.Number, got, want.String())
			}
		}
	}
	var want, got strings.Builder
	for c := range m.States(context.Background(), 1, m.snapshot.Position, 0) {
		fmt.Fprintf(&want, "%s@%d\n", c.Identifier, c.Position)
	}
	for part := 1; part <= m.snapshot.Parts; part++ {
		got.WriteString(m.read(fmt.Sprintf("/a/snapshot/%d/%d", m.snapshot.Number, part)))
	}
	if got.String() != want.String() {
		t.Errorf("snapshot %d at %d: got\n%s\nwant\n%s", m.snapshot.Number, m.snapshot.Position, got.String(), want.String())
	}
}

// history fills a log with 23 changes: segments of 5, and a tail of 3.
func history(m *memory) {
	for n := range 18 {
		m.Commit(record(n, "x"))
	}
	for n := range 3 {
		m.Commit(record(n, "xy"))
	}
	m.Commit(deleted(4), deleted(5))
}

func TestEveryStepFails(t *testing.T) {
	steps := []string{"backlog", "lease", "create", "publish", "release"}
	for _, limits := range []model.Limits{{}, {Entries: 4}} {
		for _, step := range steps {
			for _, after := range []bool{false, true} {
				for count := range 9 {
					name := fmt.Sprintf("%s/after=%v/call=%d/entries=%d", step, after, count, limits.Entries)
					t.Run(name, func(t *testing.T) {
						m := newMemory(t, 5)
						history(m)
						p := newPublisher(m, limits, &lines{name: "a"}, &lines{name: "b"})
						m.faults = &faults{step: step, after: after, count: count}
						err := p.Publish(t.Context(), 1, publish.First)
						if m.faults.fired && err == nil {
							t.Error("the failure was not reported")
						}
						check(t, m)
						m.faults = &faults{}
						m.Commit(record(30, "after the failure"))
						m.now = m.now.Add(2 * time.Hour) // a lease that was lost is over, an interval has passed
						again := newPublisher(m, limits, &lines{name: "a"}, &lines{name: "b"})
						if err := again.Publish(t.Context(), 1, publish.First); err != nil {
							t.Fatal(err)
						}
						check(t, m)
						if m.positions["a"] != 4 || m.positions["b"] != 4 || m.snapshot.Number == 0 {
							t.Errorf("published: %v, snapshot %d", m.positions, m.snapshot.Number)
						}
						if m.now.Before(m.until) {
							t.Error("the lease was not given back")
						}
					})
				}
			}
		}
	}
}

func TestStalePublisherChangesNothing(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	// The stale publisher renders, loses its lease to time, and comes back after
	// another one has published.
	fast := newPublisher(m, model.Limits{}, &lines{name: "a"}, &lines{name: "b"})
	overtaken := &overtaker{lines: lines{name: "a"}, then: func() {
		m.mu.Lock() // the other renderer is at work
		m.now = m.now.Add(time.Hour)
		m.mu.Unlock()
		if err := fast.Publish(t.Context(), 1, publish.First); err != nil {
			t.Error(err)
		}
	}}
	stale := newPublisher(m, model.Limits{}, overtaken, &lines{name: "b"})
	before := len(m.objects)
	if err := stale.Publish(t.Context(), 1, publish.First); err != nil {
		t.Fatal(err)
	}
	check(t, m)
	if m.positions["a"] != 4 {
		t.Errorf("published %v", m.positions)
	}
	if m.snapshot.Number != 1 {
		t.Errorf("%d snapshots of an unchanged set", m.snapshot.Number)
	}
	// The loser's objects are garbage, and only they.
	m.now = m.now.Add(48 * time.Hour)
	removed, _, err := fast.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := 8; removed != want || before != 0 {
		t.Errorf("%d objects collected, want %d", removed, want)
	}
	check(t, m)
}

type overtaker struct {
	lines
	then func()
	done bool
}

func (r *overtaker) Seal(ctx context.Context, log model.Log, v model.View, seg model.Segment, out model.Sink) error {
	if !r.done {
		r.done = true
		r.then()
	}
	return r.lines.Seal(ctx, log, v, seg, out)
}

func TestFailingRendererHoldsUpNoOther(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	broken := &lines{name: "b", fail: errors.New("broken renderer")}
	p := newPublisher(m, model.Limits{}, &lines{name: "a"}, broken)
	if err := p.Publish(t.Context(), 1, publish.First); err == nil || !strings.Contains(err.Error(), "broken renderer") {
		t.Errorf("got error %v", err)
	}
	if m.positions["a"] != 4 || m.positions["b"] != 0 || m.snapshot.Number != 1 {
		t.Errorf("published %v, snapshot %d", m.positions, m.snapshot.Number)
	}
	broken.fail = nil
	if err := p.Publish(t.Context(), 1, publish.Due); err != nil {
		t.Fatal(err)
	}
	check(t, m)
	if m.positions["b"] != 4 {
		t.Errorf("the mended renderer stands at %d", m.positions["b"])
	}
}

func TestNewEpochWaitsForAFailingRenderer(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	m.ready = false
	broken := &lines{name: "b", fail: errors.New("broken renderer")}
	p := newPublisher(m, model.Limits{}, &lines{name: "a"}, broken)
	for range 3 {
		if err := p.Publish(t.Context(), 1, publish.Due); err == nil {
			t.Error("the failure was not reported")
		}
	}
	if m.ready || m.snapshot.Number != 1 {
		t.Errorf("ready %v, snapshot %d, want one snapshot of an epoch that is not ready", m.ready, m.snapshot.Number)
	}
	broken.fail = nil
	if err := p.Publish(t.Context(), 1, publish.Due); err != nil {
		t.Fatal(err)
	}
	check(t, m)
	if !m.ready || m.snapshot.Number != 1 {
		t.Errorf("ready %v, snapshot %d after the renderer was mended", m.ready, m.snapshot.Number)
	}
}

// A turn that takes longer than a lease keeps the lease.
func TestLongTurnKeepsItsLease(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	long := &overtaker{lines: lines{name: "a"}, then: func() {
		for deadline := time.Now().Add(10 * time.Second); m.leased() < 3; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Error("the lease is not extended during a turn")
				return
			}
		}
	}}
	p := publish.New(m, bucket{m}, publish.Config{
		Renderers: []publish.Renderer{long, &lines{name: "b"}}, Lease: 3 * time.Millisecond, Now: m.clock, Log: slog.New(slog.DiscardHandler),
	})
	if err := p.Publish(t.Context(), 1, publish.Due); err != nil {
		t.Fatal(err)
	}
	check(t, m)
}

// A bulk writer that goes on for hours holds up neither a new epoch nor the
// snapshots that time makes due.
func TestBulkWriterTakesSnapshotsThatCannotWait(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	p := newPublisher(m, model.Limits{}, &lines{name: "a"}, &lines{name: "b"})
	step := func(what string, want model.SnapshotNumber) {
		t.Helper()
		if err := p.Publish(t.Context(), 1, publish.Segments); err != nil {
			t.Fatal(err)
		}
		check(t, m)
		if m.snapshot.Number != want {
			t.Errorf("%s: snapshot %d, want %d", what, m.snapshot.Number, want)
		}
	}
	step("while it writes", 0)
	m.now = m.now.Add(time.Hour)
	step("after the interval", 1)
	m.Clock = model.TimeOf(m.now)
	m.Commit(record(50, "x"))
	step("after a change long after the last snapshot", 2)
	m.Commit(record(51, "x"))
	step("right after it", 2)
	m.ready, m.snapshot.Number, m.old = false, 0, nil // as a new epoch is
	maps.DeleteFunc(m.documents, func(path string, _ model.Document) bool { return strings.HasPrefix(path, "/a/snapshot/") })
	step("in a new epoch", 1)
	if !m.ready {
		t.Error("the epoch is not ready")
	}
}

func TestNothingToDoWritesNothing(t *testing.T) {
	m := newMemory(t, 5)
	p := newPublisher(m, model.Limits{}, &lines{name: "a"}, &lines{name: "b"})
	for _, scope := range []publish.Scope{publish.Segments, publish.Due, publish.First, publish.Snapshot} {
		if err := p.Publish(t.Context(), 1, scope); err != nil {
			t.Fatal(err)
		}
	}
	if m.writes != 0 || len(m.objects) != 0 {
		t.Errorf("an empty set took %d transactions and %d objects", m.writes, len(m.objects))
	}
	history(m)
	if err := p.Publish(t.Context(), 1, publish.Snapshot); err != nil {
		t.Fatal(err)
	}
	writes, objects := m.writes, len(m.objects)
	if err := p.Publish(t.Context(), 1, publish.Snapshot); err != nil {
		t.Fatal(err)
	}
	if m.writes != writes || len(m.objects) != objects {
		t.Error("an unchanged set got another snapshot")
	}
}

func TestSmallSetCost(t *testing.T) {
	m := newMemory(t, 200)
	p := newPublisher(m, model.Limits{}, &lines{name: "a"}, &lines{name: "b"})
	for n := range 200 {
		m.Commit(record(n, "x"))
	}
	// As a bulk writer does: the commit took the lease.
	if ok, err := m.Lease(t.Context(), 1, p.Holder(), time.Minute); !ok || err != nil {
		t.Fatal(ok, err)
	}
	m.writes = 0
	for _, scope := range []publish.Scope{publish.Segments, publish.First} {
		if err := p.Publish(t.Context(), 1, scope); err != nil {
			t.Fatal(err)
		}
	}
	check(t, m)
	if m.writes != 2 {
		t.Errorf("publishing, packing and listing a small set took %d transactions, want 2", m.writes)
	}
	if len(m.objects) != 4 {
		t.Errorf("%d objects, want one for each renderer, one list and one pack", len(m.objects))
	}
}

func TestTime(t *testing.T) {
	m := newMemory(t, 5)
	p := newPublisher(m, model.Limits{Entries: 4}, &lines{name: "a"}, &lines{name: "b"})
	history(m)
	run := func() {
		t.Helper()
		if due, err := m.Due(t.Context(), 1); err != nil || len(due) == 0 {
			return
		}
		if err := p.Publish(t.Context(), 1, publish.Due); err != nil {
			t.Fatal(err)
		}
		check(t, m)
	}
	run()
	if m.snapshot.Number != 0 {
		t.Fatal("a snapshot before its interval has passed")
	}
	m.now = m.snapshot.At.Time().Add(time.Hour)
	run()
	if m.snapshot.Number != 1 || m.snapshot.Parts != 4 {
		t.Fatalf("snapshot %d of %d parts after the interval, want 1 of 4", m.snapshot.Number, m.snapshot.Parts)
	}
	m.now = m.now.Add(24 * time.Hour)
	run()
	if got := len(m.Cut()); got != 5 {
		t.Errorf("%d segments after segment_age, want 5: the tail is cut", got)
	}
	if m.snapshot.Number != 1 {
		t.Error("an unchanged set got another snapshot")
	}
	m.now = m.now.Add(24 * time.Hour)
	run()
	if got := len(m.Cut()); got != 5 {
		t.Errorf("%d segments: an empty tail was cut", got)
	}
	m.Commit(record(40, "x"))
	m.now = m.now.Add(time.Hour)
	run()
	if m.snapshot.Number != 2 || len(m.old) != 1 {
		t.Fatalf("snapshot %d, %d superseded", m.snapshot.Number, len(m.old))
	}
	m.now = m.now.Add(167 * time.Hour)
	run()
	if len(m.old) != 1 {
		t.Error("a superseded snapshot went before its time")
	}
	m.now = m.now.Add(2 * time.Hour)
	run()
	if len(m.old) != 0 {
		t.Error("a superseded snapshot stayed after its time")
	}
	for path := range m.documents {
		if strings.HasPrefix(path, "/a/snapshot/1/") {
			t.Errorf("%s is still published", path)
		}
	}
}

func TestRunPublishesWhatIsDue(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	p := publish.New(m, bucket{m}, publish.Config{
		Renderers: []publish.Renderer{&lines{name: "a"}, &lines{name: "b"}},
		Poll:      time.Millisecond, Now: m.clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	deadline := time.After(10 * time.Second)
	for {
		b, err := m.Backlog(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		if b.Positions["a"] == 4 && b.Positions["b"] == 4 {
			break
		}
		select {
		case <-deadline:
			t.Fatalf("published only %v", b.Positions)
		case <-time.After(time.Millisecond):
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	check(t, m)
}

func TestQueue(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	p := newPublisher(m, model.Limits{}, &lines{name: "a"}, &lines{name: "b"})
	q := p.Queue(t.Context())
	q.Add(1)
	q.Wait(1)
	b, err := m.Backlog(t.Context(), 1)
	if err != nil || b.Positions["a"] != 4 {
		t.Errorf("after Wait: %v, %v", b.Positions, err)
	}
	q.Add(1)
	q.Close()
	check(t, m)
}
