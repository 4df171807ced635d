package publish

import (
	"context"
	"errors"
	"time"

	"gateway/model"
)

// Run publishes what becomes due, in all sets, and collects garbage, until ctx
// ends. What it is doing then is abandoned between two steps; the next publisher
// repairs it. An error of one set is logged and tried again later; it stops
// neither the others nor Run.
func (p *Publisher) Run(ctx context.Context) error {
	r := &runner{Publisher: p, slots: make(chan struct{}, p.config.Workers)}
	collected := make(chan struct{})
	go func() {
		defer close(collected)
		p.collectEvery(ctx)
	}()
	for {
		r.round(ctx)
		if sleep(ctx, p.config.Poll) != nil {
			break
		}
	}
	for range cap(r.slots) { // every worker gives its slot back when it is done
		r.slots <- struct{}{}
	}
	<-collected
	return nil
}

// delay keeps Run off a set after a failure.
type delay struct {
	until    time.Time
	failures int // in a row
	err      error
}

type runner struct {
	*Publisher
	slots chan struct{}
}

// round starts a worker for every due set that none works on.
func (r *runner) round(ctx context.Context) {
	sets, err := r.store.Due(ctx, 100)
	if err != nil {
		if ctx.Err() == nil {
			r.config.Log.Error("cannot look for work to publish; trying again", "error", err)
			sleep(ctx, time.Second)
		}
		return
	}
	for _, set := range sets {
		if r.delayed(set) {
			continue
		}
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		go func() {
			defer func() { <-r.slots }()
			done, err := r.try(ctx, set, Due)
			r.note(ctx, set, done, err)
		}()
	}
}

func (r *runner) delayed(set model.SetID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.busy[set] || r.config.Now().Before(r.waiting[set].until)
}

// note remembers how a turn went: a set held by another publisher is left alone
// for a moment, a failing one for longer each time.
func (r *runner) note(ctx context.Context, set model.SetID, done bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
	case err != nil:
		d := r.waiting[set]
		d.failures, d.err = d.failures+1, err
		pause := min(time.Second<<min(d.failures-1, 6), time.Minute)
		if errors.As(err, new(renderFailure)) { // the other renderers are not to wait
			pause = min(pause, 2*time.Second)
		}
		d.until = r.config.Now().Add(pause)
		r.waiting[set] = d
		r.config.Log.Error("publishing failed; what is published stays as it is", "error", err, "failures", d.failures, "again_in", pause)
	case !done:
		d := r.waiting[set]
		d.until = r.config.Now().Add(500 * time.Millisecond)
		r.waiting[set] = d
	default:
		delete(r.waiting, set)
	}
}
