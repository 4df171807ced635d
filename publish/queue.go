package publish

import (
	"context"
	"errors"
	"sync"

	"gateway/model"
)

// Queue publishes sets in the background while a bulk writer goes on writing.
// One worker takes the sets in the order they came; a set queued again while it
// waits is done once.
type Queue struct {
	p      *Publisher
	ctx    context.Context
	done   chan struct{}
	errs   map[model.SetID]error // the last failure of each set
	wakeup *sync.Cond            // of mu

	mu      sync.Mutex // guards the fields below and errs
	sets    []model.SetID
	running model.SetID // 0 is none
	closed  bool
}

// Queue starts a queue; the caller closes it. ctx ends its work early.
func (p *Publisher) Queue(ctx context.Context) *Queue {
	q := &Queue{p: p, ctx: ctx, done: make(chan struct{}), errs: map[model.SetID]error{}}
	q.wakeup = sync.NewCond(&q.mu)
	context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.wakeup.Broadcast()
	})
	go q.work()
	return q
}

// Add has the segments of set published soon.
func (q *Queue) Add(set model.SetID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.sets {
		if s == set {
			return
		}
	}
	q.sets = append(q.sets, set)
	q.wakeup.Broadcast()
}

// Wait returns when set is not queued and not being published.
func (q *Queue) Wait(set model.SetID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.has(set) && q.ctx.Err() == nil {
		q.wakeup.Wait()
	}
}

func (q *Queue) has(set model.SetID) bool {
	if q.running == set {
		return true
	}
	for _, s := range q.sets {
		if s == set {
			return true
		}
	}
	return false
}

// Close finishes what is queued and returns the last failure of each set that
// has one. Nothing that was written is lost by them: publishing it is tried
// again by whoever publishes the set next.
func (q *Queue) Close() error {
	q.mu.Lock()
	q.closed = true
	q.wakeup.Broadcast()
	q.mu.Unlock()
	<-q.done
	var errs []error
	for _, err := range q.errs {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (q *Queue) work() {
	defer close(q.done)
	for {
		set, ok := q.next()
		if !ok {
			return
		}
		err := q.p.Publish(q.ctx, set, Segments)
		q.mu.Lock()
		q.running = 0
		if err != nil {
			q.errs[set] = err
		} else {
			delete(q.errs, set)
		}
		q.wakeup.Broadcast()
		q.mu.Unlock()
	}
}

func (q *Queue) next() (model.SetID, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.sets) == 0 && !q.closed {
		q.wakeup.Wait()
	}
	if len(q.sets) == 0 {
		return 0, false
	}
	q.running = q.sets[0]
	q.sets = q.sets[1:]
	return q.running, true
}
