package ingest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"gateway/model"
)

// target is a set that records go to.
type target struct {
	// The first three are there once open returned.
	id     model.SetID
	name   string
	policy model.Policy
	opened sync.Once
	err    error
	set    model.Set

	// The rest belongs to the sequencer.
	batch  []pending
	weight int
	used   int64 // when a record was added last, for choosing whose batch to commit

	// For [Config.Complete]: the head and the number of live records when the
	// import began, and the records that the input has.
	begin model.Position
	live  int64
	seen  numbers
}

// targets opens the sets of an import, each once, for several workers.
type targets struct {
	store Store
	// heads are those of all sets when the import began; nil: the head counts
	// that a set has when it is opened.
	heads map[string]model.Head

	mu     sync.Mutex // guards byName
	byName map[string]*target
}

func (s *targets) open(ctx context.Context, name string) (*target, error) {
	s.mu.Lock()
	t := s.byName[name]
	if t == nil {
		t = &target{name: name}
		s.byName[name] = t
	}
	s.mu.Unlock()
	t.opened.Do(func() {
		set, head, err := s.store.OpenSet(ctx, name)
		if err != nil {
			t.err = fmt.Errorf("open set %s: %w", name, err)
			return
		}
		if s.heads != nil {
			head = s.heads[name] // a set that was not there was empty
		}
		t.id, t.set, t.policy = set.ID, set, set.Policy
		t.begin, t.live = head.Position, head.Records
	})
	return t, t.err
}

// byNumber returns the open sets in the order in which they were created.
func (s *targets) byNumber() []*target {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*target, 0, len(s.byName))
	for _, t := range s.byName {
		if t.err == nil {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *target) int { return int(a.id - b.id) })
	return all
}
