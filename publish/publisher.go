package publish

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"gateway/model"
)

// Config of a [Publisher]; zero fields have the defaults stated.
type Config struct {
	Renderers []Renderer
	Snapshots []SnapshotRenderer
	Limits    model.Limits
	// Lease is how long a set is reserved at a time, and so how long a publisher
	// that was killed keeps others waiting: 10 seconds.
	Lease time.Duration
	// Poll is the pause between two looks for due sets: 200 ms.
	Poll time.Duration
	// Workers is how many sets are published at a time: 2.
	Workers int
	// CollectEvery is the pause between two collections of garbage: 6 hours.
	CollectEvery time.Duration
	// CollectAge is how old an unreferenced object must be: 24 hours.
	CollectAge time.Duration
	Now        func() time.Time // time.Now
	Log        *slog.Logger     // slog.Default
}

func (c Config) withDefaults() Config {
	setDefault(&c.Lease, 10*time.Second)
	setDefault(&c.Poll, 200*time.Millisecond)
	setDefault(&c.Workers, 2)
	setDefault(&c.CollectEvery, 6*time.Hour)
	setDefault(&c.CollectAge, 24*time.Hour)
	c.Limits = c.Limits.WithDefaults()
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

func setDefault[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// Publisher publishes the sets of one store. Any number of them, in any number
// of processes, may work on the same store.
type Publisher struct {
	store   Store
	objects Objects
	config  Config
	holder  string

	mu      sync.Mutex            // guards the fields below
	busy    map[model.SetID]bool  // sets this process works on
	waiting map[model.SetID]delay // sets that Run leaves alone for a while
}

// New is a publisher of what store has cut, into objects.
func New(store Store, objects Objects, c Config) *Publisher {
	var id [8]byte
	rand.Read(id[:])
	return &Publisher{
		store: store, objects: objects, config: c.withDefaults(),
		holder: hex.EncodeToString(id[:]), busy: map[model.SetID]bool{}, waiting: map[model.SetID]delay{},
	}
}

// Holder is the name under which p takes leases, for a writer that takes the
// lease in its own commit.
func (p *Publisher) Holder() string { return p.holder }

// LeaseTime is how long p reserves a set at a time.
func (p *Publisher) LeaseTime() time.Duration { return p.config.Lease }

// Scope says how much of a set's work is done.
type Scope int

const (
	// Segments publishes what is cut, for a bulk writer who goes on and ends with
	// another scope: nothing is packed and the lease stays. A snapshot is taken
	// only for an epoch that is not ready, or after the policy's interval.
	Segments Scope = iota
	// Due does everything that is due: it cuts a tail that is too old,
	// publishes what is cut, takes a snapshot, lets superseded ones go.
	Due
	// First is Due, and takes a snapshot if the set has none yet, so that a
	// first import ends with a list.
	First
	// Snapshot is Due, and takes a snapshot of anything that changed.
	Snapshot
)

// Publish does set's work of the given scope now and returns when it is done. If
// another publisher holds the set, it waits for the lease as long as ctx lets
// it. The lease is given back at the end, but for the scope Segments.
func (p *Publisher) Publish(ctx context.Context, set model.SetID, scope Scope) error {
	return p.PublishWithin(ctx, set, scope, math.MaxInt64)
}

// PublishWithin is Publish, but when another publisher holds the set for longer
// than patience, the work is left to that one.
func (p *Publisher) PublishWithin(ctx context.Context, set model.SetID, scope Scope, patience time.Duration) error {
	began := time.Now()
	for pause := 10 * time.Millisecond; time.Since(began) < patience; pause = min(2*pause, time.Second) {
		done, err := p.try(ctx, set, scope)
		if done || err != nil {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
	p.config.Log.Info("another process publishes the set and goes on with what was written here", "set", set)
	return nil
}

// try publishes set unless another publisher, of this process or another, is at
// it.
func (p *Publisher) try(ctx context.Context, set model.SetID, scope Scope) (done bool, err error) {
	release, ok := p.reserve(set)
	if !ok {
		return false, nil
	}
	defer release()
	w := &work{Publisher: p, set: set, scope: scope}
	err = w.run(ctx)
	if errors.Is(err, model.ErrHeadMoved) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("publish set %d: %w", set, err)
	}
	return true, nil
}

// reserve keeps other goroutines of this process off set until release.
func (p *Publisher) reserve(set model.SetID) (release func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[set] {
		return nil, false
	}
	p.busy[set] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.busy, set)
	}, true
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
