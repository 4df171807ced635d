package publish

import (
	"context"
	"sync"

	"gateway/model"
)

// Queue publishes the segments of sets in the background while a bulk writer
// goes on writing. One worker takes the sets in the order they came; a set
// queued again while it waits is done once. A failure is left to whoever
// publishes the set next, which the writer does at its end.
type Queue struct {
	p      *Publisher
	ctx    context.Context
	done   chan struct{}
	wakeup *sync.Cond // of mu

	mu      sync.Mutex // guards the fields below
	sets    []model.SetID
	running model.SetID // 0 is none
	closed  bool
}

// Queue starts a queue; the caller closes it. ctx ends its work early.
func (p *Publisher) Queue(ctx context.Context) *Queue {
	q := &Queue{p: p, ctx: ctx, done: make(chan struct{})}
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

// Close returns when what is queued is done.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.wakeup.Broadcast()
	q.mu.Unlock()
	<-q.done
}

func (q *Queue) work() {
	defer close(q.done)
	for {
		set, ok := q.next()
		if !ok {
			return
		}
		if err := q.p.Publish(q.ctx, set, Segments); err != nil && q.ctx.Err() == nil {
			q.p.config.Log.Debug("publishing in the background failed", "error", err)
		}
		q.mu.Lock()
		q.running = 0
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
