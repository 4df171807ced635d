package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"
	"go.uber.org/goleak"

	"gateway/model"
	"gateway/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a store and its objects in memory. It complains about what a real one
// would trip over: content that is not what it is said to be, objects that were
// not reserved or are not there, batches beyond the bounds.
type fake struct {
	t *testing.T

	mu       sync.Mutex
	sets     map[string]*fakeSet
	byID     map[model.SetID]*fakeSet
	objects  map[string][]byte
	reserved map[string]bool
	commits  int
	policy   model.Policy
	chunk    int // bytes; small ones make many chunks even of short inputs
	inline   int // bytes
	// before, when not nil, is called before a commit; its error fails it.
	before func(commit int) error
}

type fakeSet struct {
	*modeltest.Log
	order   []string // identifiers in the order in which they were committed
	batches []int    // sizes
	last    map[string]model.Position
	content map[[32]byte][]byte
}

func newFake(t *testing.T) *fake {
	return &fake{t: t, sets: map[string]*fakeSet{}, byID: map[model.SetID]*fakeSet{}, objects: map[string][]byte{}, reserved: map[string]bool{}, policy: model.DefaultPolicy(), chunk: 64, inline: maxInline}
}

func (f *fake) OpenSet(_ context.Context, name string) (model.Set, model.Head, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sets[name]
	if s == nil {
		s = &fakeSet{Log: modeltest.New(name, "http://example.org"), last: map[string]model.Position{}, content: map[[32]byte][]byte{}}
		s.Set.ID = model.SetID(len(f.sets) + 1)
		s.Set.Policy = f.policy
		f.sets[name], f.byID[s.Set.ID] = s, s
	}
	return s.Set, s.Now().Head, nil
}

func (f *fake) Commit(ctx context.Context, id model.SetID, batch []model.Incoming) (Committed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commits++
	if f.before != nil {
		if err := f.before(f.commits); err != nil {
			return Committed{}, err
		}
	}
	if ctx.Err() != nil {
		f.t.Error("a commit was begun with a context that is done")
	}
	s := f.byID[id]
	c := Committed{}
	weight := 0
	for i := range batch {
		in := &batch[i]
		for _, b := range in.Bodies {
			weight += len(b.Bytes)
		}
		s.order = append(s.order, in.Record.Identifier)
		if in.IfPosition != nil && *in.IfPosition != s.last[in.Record.Identifier] {
			c.Outcomes = append(c.Outcomes, model.Outcome{Err: fmt.Errorf("position: %w", model.ErrPrecondition)})
			continue
		}
		if err := in.Record.Validate(); err != nil {
			f.t.Errorf("an invalid record reached the store: %v", err)
		}
		f.checkContent(s, in)
		o := s.Log.Commit(in.Record)[0]
		s.last[in.Record.Identifier] = o.Position
		c.Outcomes = append(c.Outcomes, o)
	}
	if len(batch) == 0 || len(batch) > maxBatchRecords || weight > maxBatchBytes {
		f.t.Errorf("a batch of %d records with %d bytes", len(batch), weight)
	}
	s.batches = append(s.batches, len(batch))
	c.Head = s.Head()
	return c, nil
}

// checkContent holds the bodies of a record against what it says about them.
func (f *fake) checkContent(s *fakeSet, in *model.Incoming) {
	if len(in.Bodies) != len(in.Record.Resources) {
		f.t.Fatalf("%d bodies for %d resources", len(in.Bodies), len(in.Record.Resources))
	}
	for i := range in.Bodies {
		r, kept := &in.Record.Resources[i], in.Bodies[i].Bytes
		if r.External() {
			continue
		}
		if key := in.Bodies[i].Object; key != "" {
			if kept = f.objects[key]; kept == nil || !f.reserved[key] {
				f.t.Errorf("object %s of %s is not there, or not reserved", key, r.Name)
			}
		}
		if int64(len(kept)) != r.Content.Stored || r.Content.Deflated && r.Content.Stored >= r.Content.Length {
			f.t.Errorf("%s: %d bytes kept, content %+v", r.Name, len(kept), r.Content)
		}
		b := kept
		if r.Content.Deflated {
			var err error
			if b, err = io.ReadAll(flate.NewReader(bytes.NewReader(kept))); err != nil {
				f.t.Errorf("%s: inflate: %v", r.Name, err)
			}
		}
		want := modeltest.ContentOf(string(b))
		want.Deflated, want.Stored = r.Content.Deflated, r.Content.Stored
		if want != r.Content {
			f.t.Errorf("%s: content is\n%+v, described as\n%+v", r.Name, want, r.Content)
		}
		s.content[r.Content.SHA256] = b
	}
}

func (f *fake) ReserveObject(_ context.Context, _ model.SetID, key string, d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d < time.Hour || !strings.HasPrefix(key, "content/") || len(key) != len("content/")+32 {
		f.t.Errorf("reserve %s for %v", key, d)
	}
	f.reserved[key] = true
	return nil
}

func (f *fake) Heads(context.Context) (map[string]model.Head, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	heads := map[string]model.Head{}
	for name, s := range f.sets {
		heads[name] = s.Now().Head
	}
	return heads, nil
}

func (f *fake) States(ctx context.Context, id model.SetID, at model.Position, after model.RecordNumber) iter.Seq2[*model.Change, error] {
	return f.byID[id].Log.States(ctx, id, at, after)
}

func (f *fake) Create(_ context.Context, key string, r io.Reader) (int64, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.objects[key] != nil || !f.reserved[key] {
		f.t.Errorf("object %s is there already, or not reserved", key)
	}
	f.objects[key] = append([]byte{}, b...)
	return int64(len(b)), nil
}

func (f *fake) Delete(_ context.Context, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.objects, key)
	return nil
}

// content is the content of a live resource of a record.
func (f *fake) content(set, identifier, name string) string {
	f.t.Helper()
	s := f.sets[set]
	p := s.last[identifier]
	if p == 0 {
		f.t.Fatalf("%s is not in %s", identifier, set)
	}
	r := s.At(p).Resource(name)
	if r == nil {
		f.t.Fatalf("%s has no %s", identifier, name)
	}
	return string(s.content[r.Content.SHA256])
}

// run imports the given texts, each an input of its own.
func (f *fake) run(c Config, texts ...string) (Result, []string, error) {
	f.t.Helper()
	inputs := make([]Input, 0, len(texts))
	for i, text := range texts {
		inputs = append(inputs, Reader(string(rune('a'+i)), strings.NewReader(text)))
	}
	return f.runInputs(context.Background(), c, inputs)
}

// runInputs returns the findings as text beside the result.
func (f *fake) runInputs(ctx context.Context, c Config, inputs []Input) (Result, []string, error) {
	f.t.Helper()
	if c.Set == "" && c.SetFrom == "" {
		c.Set = "s"
	}
	var findings []string
	c.Rejected = func(x Finding) { findings = append(findings, x.String()) }
	c.Warned = func(x Finding) { findings = append(findings, "warning: "+x.String()) }
	im, err := New(f, f, c)
	if err != nil {
		f.t.Fatal(err)
	}
	im.chunk, im.inline = f.chunk, f.inline
	r, err := im.Run(ctx, inputs)
	return r, findings, err
}

var errBroken = errors.New("the database is down")
