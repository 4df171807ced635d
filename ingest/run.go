package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"

	"gateway/model"
)

// Run imports inputs, one after the other. The result counts what was done, also
// when there is an error: then the rest was not. Inputs that could not be read
// to their end ([*InputError]) and sets whose missing records were too many
// ([*GuardError]) do not keep the others from being imported.
//
// When ctx is done, Run returns after the commit that is running. It does not
// wait for a read of an input that is going on, such as one from a terminal;
// that ends the reading when it returns.
func (im *Importer) Run(ctx context.Context, inputs []Input) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var root *os.Root
	if im.config.Files != "" {
		var err error
		if root, err = os.OpenRoot(im.config.Files); err != nil {
			return Result{}, fmt.Errorf("open the directory of content files: %w", err)
		}
		defer root.Close()
	}
	sets := &targets{store: im.store, byName: map[string]*target{}}
	if err := im.begin(ctx, sets); err != nil {
		return Result{}, err
	}

	// ordered takes every chunk in the order of the input, and so does work,
	// from which the workers serve themselves: the first chunk that is not done
	// always has a worker or gets the next one that is free.
	ordered := make(chan *chunk, 2*im.config.Workers)
	work := make(chan *chunk, 2*im.config.Workers)
	var read atomic.Int64
	go func() {
		defer close(ordered)
		defer close(work)
		newSplitter(im.chunk, im.config.MaxLine, &read, func(c *chunk) bool {
			c.out = make(chan []result, 1)
			return send(ctx, ordered, c) && (c.err != nil || send(ctx, work, c))
		}).run(ctx, inputs)
	}()
	var workers sync.WaitGroup
	for range im.config.Workers {
		workers.Go(func() {
			w := &worker{im: im, targets: sets, root: root, decoder: newDecoder(im.config.SetFrom), deflate: newDeflater()}
			for c := range receive(ctx, work) {
				w.chunk(ctx, c)
			}
		})
	}
	defer workers.Wait()
	defer cancel() // before the wait

	q := &sequencer{im: im, targets: sets, read: &read, total: totalSize(inputs)}
	err := q.run(ctx, ordered)
	return q.result, err
}

// begin opens the set, or notes how all stand.
func (im *Importer) begin(ctx context.Context, sets *targets) (err error) {
	if im.config.Set != "" {
		_, err = sets.open(ctx, im.config.Set)
		return err
	}
	if im.config.Complete {
		if sets.heads, err = im.store.Heads(ctx); err != nil {
			return fmt.Errorf("note the sets before the import: %w", err)
		}
		if sets.heads == nil {
			sets.heads = map[string]model.Head{}
		}
	}
	return nil
}

func send[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// receive yields what comes from a channel until it is closed or ctx is done.
func receive[T any](ctx context.Context, from <-chan T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			select {
			case v, ok := <-from:
				if !ok || !yield(v) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// run takes results in order and commits them, to the end of ordered, and then
// does what Complete asks for.
func (q *sequencer) run(ctx context.Context, ordered <-chan *chunk) error {
	var inputErrors []error
	for c := range receive(ctx, ordered) {
		if c.err != nil {
			inputErrors = append(inputErrors, &InputError{Input: c.input, Line: c.line, Err: c.err})
			continue
		}
		for results := range receive(ctx, c.out) {
			for i := range results {
				if err := q.take(ctx, c.input, &results[i]); err != nil {
					return err
				}
			}
		}
		q.progress()
	}
	if err := q.flushAll(ctx); err != nil {
		return err
	}
	q.progress()
	err := errors.Join(inputErrors...)
	if !q.im.config.Complete {
		return err
	}
	if err != nil {
		return errors.Join(err, errors.New("what the input lacks was not looked for, because the input was not read to its end; nothing was deleted for it"))
	}
	return q.deleteMissing(ctx)
}
