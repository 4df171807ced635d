package publish_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"

	"gateway/model"
	"gateway/model/modeltest"
	"gateway/publish"
)

var errLost = errors.New("injected failure")

// faults fails the n-th call of a kind, before or after it took effect.
type faults struct {
	step  string // "" is none
	after bool
	count int // calls of step to let pass before

	mu    sync.Mutex // guards count and fired
	fired bool
}

func (f *faults) around(step string, do func() error) error {
	if !f.fires(step) {
		return do()
	}
	if !f.after {
		return errLost
	}
	if err := do(); err != nil {
		return err
	}
	return errLost
}

func (f *faults) fires(step string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fired || f.step != step {
		return false
	}
	f.count--
	f.fired = f.count < 0
	return f.fired
}

// memory is a store of one set and its objects, as strict as the contract: it
// fails the test when something published is published again in other bytes.
type memory struct {
	*modeltest.Log
	t      *testing.T
	faults *faults

	mu        sync.Mutex
	now       time.Time
	positions map[string]model.SegmentNumber
	documents map[string]model.Document
	rendering *model.RenderingSnapshot
	snapshot  model.Snapshot
	old       []model.Snapshot
	ready     bool
	holder    string
	until     time.Time
	objects   map[string][]byte
	created   map[string]time.Time
	writes    int // transactions
	leases    int // taken or extended
	packed    model.SegmentNumber
	spent     model.ContentKey // the last whose bytes in the database are spent
	freed     model.ContentKey // the last whose bytes in the database are gone
	due       model.Time       // of spent bytes
	places    map[model.ContentKey]model.Place
	full      bool              // the objects have no room
	resources []*model.Resource // that each change brought; one at most
}

func newMemory(t *testing.T, segmentSize int) *memory {
	l := modeltest.New("rivers", "http://example.org")
	l.Set.Policy.SegmentSize = segmentSize
	return &memory{
		Log: l, t: t, faults: &faults{}, now: modeltest.Start.Time().Add(time.Minute), ready: true,
		positions: map[string]model.SegmentNumber{}, documents: map[string]model.Document{},
		snapshot: model.Snapshot{Epoch: 1, At: modeltest.Start},
		objects:  map[string][]byte{}, created: map[string]time.Time{}, places: map[model.ContentKey]model.Place{},
	}
}

func (m *memory) leased() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leases
}

func (m *memory) clock() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *memory) Due(context.Context, int) ([]model.SetID, error) {
	b, err := m.Backlog(context.Background(), 1)
	if due := b.Due(); err != nil || due == 0 || due > model.TimeOf(m.clock()) {
		return nil, err
	}
	return []model.SetID{1}, nil
}

func (m *memory) Backlog(context.Context, model.SetID) (b model.Backlog, err error) {
	err = m.faults.around("backlog", func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		b = m.backlog()
		return nil
	})
	return b, err
}

func (m *memory) backlog() model.Backlog {
	slowest := model.SegmentNumber(1 << 60)
	positions := map[string]model.SegmentNumber{}
	for name, at := range m.positions {
		positions[name] = at
	}
	for _, name := range []string{"a", "b"} {
		slowest = min(slowest, m.positions[name])
	}
	b := model.Backlog{View: m.View(m.Head(), slowest), Positions: positions, Superseded: slices.Clone(m.old)}
	b.View.Snapshot, b.View.Ready = m.snapshot, m.ready
	if cut := m.Cut(); len(cut) == 0 && m.Head() > 0 {
		b.Tail = m.At(1).Time
	} else if len(cut) > 0 && cut[len(cut)-1].Last < m.Head() {
		b.Tail = m.At(cut[len(cut)-1].Last + 1).Time
	}
	if m.rendering != nil {
		r := *m.rendering
		b.Rendering = &r
	}
	b.Packed, b.Spent, b.Sparse = m.packed, m.due, len(m.sparse()) > 0
	if m.now.Before(m.until) {
		b.Holder = m.holder
	}
	return b
}

func (m *memory) Lease(_ context.Context, _ model.SetID, holder string, d time.Duration) (ok bool, err error) {
	err = m.faults.around("lease", func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if ok = m.holder == holder || !m.now.Before(m.until); ok {
			m.holder, m.until = holder, m.now.Add(d)
			m.leases++
			m.writes++
		}
		return nil
	})
	return ok, err
}

func (m *memory) Release(_ context.Context, _ model.SetID, holder string) error {
	return m.faults.around("release", func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.holder == holder {
			m.until = time.Time{}
			m.writes++
		}
		return nil
	})
}

func (m *memory) Seal(context.Context, model.SetID) (cut bool, err error) {
	err = m.faults.around("seal", func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		cut = m.Log.Seal()
		return nil
	})
	return cut, err
}

func (m *memory) Publish(_ context.Context, p model.Publication) error {
	return m.faults.around("publish", func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if p.Holder != "" && m.holder != p.Holder && m.now.Before(m.until) {
			return model.ErrHeadMoved
		}
		for _, a := range p.Advances {
			if m.positions[a.Renderer] != a.From {
				return model.ErrHeadMoved
			}
		}
		if p.Snapshot != nil && p.Snapshot.Number <= m.snapshot.Number || p.Pack != nil && !m.takes(p.Pack) {
			return model.ErrHeadMoved
		}
		if p.Pack != nil {
			m.take(p.Pack)
		}
		for _, a := range p.Advances {
			m.positions[a.Renderer] = a.To
		}
		for _, d := range p.Documents {
			if was, ok := m.documents[d.Path]; ok && was.Content.SHA256 != d.Content.SHA256 {
				m.t.Errorf("%s was published before with other bytes", d.Path)
			}
			m.documents[d.Path] = d
		}
		if p.Rendering != nil {
			r := *p.Rendering
			m.rendering = &r
		}
		if p.Snapshot != nil {
			if m.snapshot.Number > 0 {
				was := m.snapshot
				was.Superseded = model.TimeOf(m.now)
				m.old = append(m.old, was)
			}
			m.snapshot, m.rendering = *p.Snapshot, nil
		}
		for _, n := range p.Expire {
			m.old = slices.DeleteFunc(m.old, func(s model.Snapshot) bool { return s.Number == n })
			for path, d := range m.documents {
				if d.Snapshot == n {
					delete(m.documents, path)
				}
			}
		}
		m.ready = m.ready || p.Ready
		if p.Release {
			m.until = time.Time{}
		}
		m.writes++
		return nil
	})
}

func (m *memory) Unreferenced(_ context.Context, keys []string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool {
		for _, d := range m.documents {
			if d.Object == k {
				return true
			}
		}
		for _, p := range m.places {
			if p.Object == k {
				return true
			}
		}
		return false
	}), nil
}

// bucket is the memory's object store.
type bucket struct{ *memory }

func (b bucket) Create(_ context.Context, key string, r io.Reader) (n int64, err error) {
	err = b.faults.around("create", func() error {
		if b.full {
			return fmt.Errorf("create %s: %w", key, syscall.ENOSPC)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.objects[key] != nil {
			b.t.Errorf("object %s is created twice", key)
			return model.ErrExists
		}
		b.objects[key], b.created[key], n = data, b.now, int64(len(data))
		return nil
	})
	return n, err
}

func (b bucket) Open(_ context.Context, key string) (model.Kept, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.objects[key]
	if !ok {
		return nil, model.ErrNotFound
	}
	return kept{bytes.NewReader(data)}, nil
}

type kept struct{ *bytes.Reader }

func (kept) Close() error { return nil }

func (b bucket) Delete(_ context.Context, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, key)
	return nil
}

func (b bucket) List(context.Context) iter.Seq2[publish.ObjectInfo, error] {
	b.mu.Lock()
	var all []publish.ObjectInfo
	for k, v := range b.objects {
		all = append(all, publish.ObjectInfo{Key: k, Size: int64(len(v)), Created: b.created[k]})
	}
	b.mu.Unlock()
	return func(yield func(publish.ObjectInfo, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// read returns the identity bytes of the published document at path, checked
// against its row.
func (m *memory) read(path string) string {
	m.t.Helper()
	m.mu.Lock()
	d, ok := m.documents[path]
	data := m.objects[d.Object]
	m.mu.Unlock()
	if !ok {
		m.t.Fatalf("%s is not published", path)
	}
	if int64(len(data)) != d.Content.Stored {
		m.t.Fatalf("%s: its object has %d bytes, its row says %d", path, len(data), d.Content.Stored)
	}
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(data)))
	if err != nil {
		m.t.Fatalf("%s: %v", path, err)
	}
	if sha256.Sum256(text) != d.Content.SHA256 || int64(len(text)) != d.Content.Length {
		m.t.Fatalf("%s: its bytes are not what its row says", path)
	}
	return string(text)
}

// lines is a renderer that writes a line per change, and of snapshots a line per
// record.
type lines struct {
	name string
	fail error
}

func (r *lines) Name() string { return r.name }

func (r *lines) Seal(ctx context.Context, log model.Log, v model.View, seg model.Segment, out model.Sink) error {
	if r.fail != nil {
		return r.fail
	}
	if v.Published.Number != seg.Number-1 || v.Next == nil || *v.Next != seg {
		return fmt.Errorf("view has published %d, next %v at segment %d", v.Published.Number, v.Next, seg.Number)
	}
	w, err := out.Create(fmt.Sprintf("/%s/%d", r.name, seg.Number), "text/plain", seg.Until)
	if err != nil {
		return err
	}
	for c, err := range log.Changes(ctx, v.Set.ID, seg.First-1, seg.Last) {
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%d %s\n", c.Position, c.Identifier)
	}
	return w.Close()
}

func (r *lines) Part(v model.View, s model.Snapshot, number int, single bool, out model.Sink) (model.PartWriter, error) {
	w, err := out.Create(fmt.Sprintf("/%s/snapshot/%d/%d", r.name, s.Number, number), "text/plain", s.At)
	return linePart{w}, err
}

type linePart struct{ io.WriteCloser }

func (p linePart) Record(c *model.Change) error {
	_, err := fmt.Fprintf(p, "%s@%d\n", c.Identifier, c.Position)
	return err
}

func (r *lines) Index(_ context.Context, v model.View, s model.Snapshot, out model.Sink) error {
	w, err := out.Create(fmt.Sprintf("/%s/snapshot/%d/index", r.name, s.Number), "text/plain", s.At)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d parts", s.Parts)
	return w.Close()
}
