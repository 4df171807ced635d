package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"gateway/model"
	"gateway/publish"
)

// packObjects counts the packs among the objects.
func packObjects(m *memory) int {
	n := 0
	for key := range m.objects {
		if strings.HasPrefix(key, "packs/") {
			n++
		}
	}
	return n
}

func TestPacks(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	p := newPublisher(m, model.Limits{}, &lines{name: "a"}, &lines{name: "b"})
	if err := p.Publish(t.Context(), 1, publish.Segments); err != nil {
		t.Fatal(err)
	}
	if m.packed != 0 {
		t.Error("a bulk writer's segments were packed while it writes")
	}
	if err := p.Publish(t.Context(), 1, publish.Due); err != nil {
		t.Fatal(err)
	}
	if m.packed != 4 || packObjects(m) != 1 {
		t.Errorf("packed up to %d into %d objects, want 4 into 1", m.packed, packObjects(m))
	}
	m.checkContents()
	if m.freed != 0 {
		t.Error("bytes went before their time")
	}
	m.now = m.now.Add(2 * time.Hour)
	writes := m.writes
	if err := p.Publish(t.Context(), 1, publish.Due); err != nil {
		t.Fatal(err)
	}
	if m.freed != m.spent || m.due != 0 {
		t.Errorf("bytes are freed up to %d, want %d", m.freed, m.spent)
	}
	if m.writes == writes {
		t.Error("nothing was written")
	}
	m.checkContents()
	writes = m.writes
	if err := p.Publish(t.Context(), 1, publish.Due); err != nil || m.writes != writes {
		t.Errorf("with nothing to do: %d transactions, %v", m.writes-writes, err)
	}
}

// Content lies where the log or a pack says, whichever step of packing fails,
// and the next turn does the rest.
func TestEveryStepOfPackingFails(t *testing.T) {
	for _, step := range []string{"lease", "create", "pack", "free", "release"} {
		for _, after := range []bool{false, true} {
			for count := range 6 {
				t.Run(fmt.Sprintf("%s/after=%v/call=%d", step, after, count), func(t *testing.T) {
					m := newMemory(t, 200)
					scattered(m)
					p := newPublisher(m, model.Limits{}, &lines{name: "a"}, &lines{name: "b"})
					turn := func() error { return p.Publish(t.Context(), 1, publish.Snapshot) }
					m.faults = &faults{step: step, after: after, count: count}
					first := turn()
					m.checkContents()
					m.now = m.now.Add(2 * time.Hour)
					if err := turn(); m.faults.fired && first == nil && err == nil {
						t.Error("the failure was not reported")
					}
					m.checkContents()
					check(t, m)
					m.faults = &faults{}
					m.Commit(record(0, "xyz"))
					for range 2 {
						m.now = m.now.Add(2 * time.Hour)
						if err := turn(); err != nil {
							t.Fatal(err)
						}
					}
					m.checkContents()
					check(t, m)
					if m.packed != model.SegmentNumber(len(m.Cut())) || m.freed != m.spent {
						t.Errorf("packed up to %d, freed up to %d of %d", m.packed, m.freed, m.spent)
					}
					m.now = m.now.Add(48 * time.Hour)
					if _, _, err := p.Collect(t.Context()); err != nil {
						t.Fatal(err)
					}
					m.checkContents()
					check(t, m)
				})
			}
		}
	}
}

// scattered fills a log whose state lies in some hundred runs.
func scattered(m *memory) {
	for n := range 600 {
		m.Commit(record(n, "x"))
	}
	for n := range 300 {
		m.Commit(record(2*n, "xy"))
	}
}

func TestContentInManyRunsIsArranged(t *testing.T) {
	m := newMemory(t, 100)
	scattered(m)
	p := newPublisher(m, model.Limits{}, &lines{name: "a"}, &lines{name: "b"})
	if err := p.Publish(t.Context(), 1, publish.Snapshot); err != nil {
		t.Fatal(err)
	}
	m.checkContents()
	runs := 0
	var last model.Place
	for c := range m.States(t.Context(), 1, m.Head(), 0) {
		place := m.places[c.Resources[0].Key]
		if place.Object != last.Object || place.Start != last.Start+last.Stored {
			runs++
		}
		last = place
	}
	if runs != 1 {
		t.Errorf("the content of the part lies in %d runs, want 1", runs)
	}
	m.now = m.now.Add(time.Hour)
	if err := p.Publish(t.Context(), 1, publish.Due); err != nil {
		t.Fatal(err)
	}
	m.checkContents()
	if m.sparse() != nil {
		t.Error("packs that are more than half without content are kept")
	}
	var size int64
	for key, b := range m.objects {
		if strings.HasPrefix(key, "packs/") {
			size += int64(len(b))
		}
	}
	if want := int64(2 * (600 + 300*2)); size > want {
		t.Errorf("packs take %d bytes, want %d at most", size, want)
	}
	m.Commit(record(1, "changed"))
	packs := packObjects(m)
	if err := p.Publish(t.Context(), 1, publish.Snapshot); err != nil {
		t.Fatal(err)
	}
	if packObjects(m) != packs {
		t.Error("content in a few runs was arranged again")
	}
}

// overtakenLoose lets another packer be faster.
type overtakenLoose struct {
	*memory
	then func()
}

func (o *overtakenLoose) Loose(ctx context.Context, set model.SetID, after, last model.SegmentNumber) iter.Seq2[model.Loose, error] {
	return func(yield func(model.Loose, error) bool) {
		if o.then != nil {
			then := o.then
			o.then = nil
			then()
		}
		for c, err := range o.memory.Loose(ctx, set, after, last) {
			if !yield(c, err) {
				return
			}
		}
	}
}

func TestStalePackerChangesNothing(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	fast := newPublisher(m, model.Limits{}, &lines{name: "a"}, &lines{name: "b"})
	overtaken := &overtakenLoose{memory: m}
	stale := publish.New(overtaken, bucket{m}, publish.Config{Now: m.clock, Renderers: []publish.Renderer{&lines{name: "a"}, &lines{name: "b"}}})
	overtaken.then = func() {
		m.now = m.now.Add(30 * time.Minute)
		if err := fast.Publish(t.Context(), 1, publish.Due); err != nil {
			t.Error(err)
		}
	}
	if err := stale.Publish(t.Context(), 1, publish.Due); err != nil {
		t.Fatal(err)
	}
	if m.packed != 4 {
		t.Errorf("packed up to %d", m.packed)
	}
	m.checkContents()
	m.now = m.now.Add(48 * time.Hour)
	if _, _, err := fast.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if packObjects(m) != 1 {
		t.Errorf("%d packs after collection, want 1", packObjects(m))
	}
	m.checkContents()
}

func TestPackThatCannotBeReadBack(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	p := publish.New(m, damagedBucket{bucket{m}}, publish.Config{Now: m.clock})
	if err := p.Publish(t.Context(), 1, publish.Due); err == nil || !strings.Contains(err.Error(), "read pack") {
		t.Errorf("got error %v", err)
	}
	if m.packed != 0 || len(m.places) != 0 {
		t.Error("a damaged pack became the place of content")
	}
}

// A full disk is reported, publishes nothing by half, and is over when there is
// room.
func TestFullDisk(t *testing.T) {
	m := newMemory(t, 5)
	history(m)
	m.full = true
	p := publish.New(m, bucket{m}, publish.Config{
		Renderers: []publish.Renderer{&lines{name: "a"}, &lines{name: "b"}}, Snapshots: []publish.SnapshotRenderer{&lines{name: "a"}},
		Poll: time.Millisecond, Now: func() time.Time { return m.clock().Add(time.Since(began)) }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err := p.Publish(t.Context(), 1, publish.Snapshot); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("publishing: %v", err)
	}
	if len(m.documents) != 0 || len(m.places) != 0 || m.packed != 0 || m.snapshot.Number != 0 {
		t.Error("something was published by half")
	}
	if err := p.Health(); err != nil {
		t.Errorf("before the publisher runs: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	until("the full disk is not reported", func() bool { return errors.Is(p.Health(), syscall.ENOSPC) })
	m.mu.Lock()
	m.full = false
	m.mu.Unlock()
	until("publishing did not go on", func() bool {
		b, err := m.Backlog(ctx, 1)
		return err == nil && b.Packed == 4 && b.Positions["a"] == 4 && p.Health() == nil
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	check(t, m)
	m.checkContents()
}

var began = time.Now()
