package store

import (
	"errors"
	"slices"
	"sync"

	"gateway/model"
)

// maxHandles is how many objects one reader of contents keeps open.
const maxHandles = 4

// handles keeps the objects open that were read last.
type handles struct {
	mu     sync.Mutex
	open   []*handle // the one used last comes first
	closed bool
}

// handle is an open object. One that was put out of handles is closed by its
// last user.
type handle struct {
	object string
	kept   model.Kept
	users  int
	out    bool
}

// acquire returns the object, opened by open unless it is open already, until
// release is called.
func (h *handles) acquire(object string, open func() (model.Kept, error)) (kept model.Kept, release func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.open, func(o *handle) bool { return o.object == object })
	if i < 0 {
		kept, err := open()
		if err != nil {
			return nil, nil, err
		}
		i = len(h.open)
		h.open = append(h.open, &handle{object: object, kept: kept})
	}
	o := h.open[i]
	copy(h.open[1:], h.open[:i])
	h.open[0] = o
	o.users++
	for len(h.open) > maxHandles {
		last := len(h.open) - 1
		_ = h.open[last].put() // it was only read
		h.open = h.open[:last]
	}
	if h.closed {
		_ = o.put()
		h.open = h.open[:0]
	}
	return o.kept, func() { h.release(o) }, nil
}

func (h *handles) release(o *handle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.users--
	if o.out {
		_ = o.put()
	}
}

// put takes o out of handles.
func (o *handle) put() error {
	o.out = true
	if o.users > 0 {
		return nil
	}
	return o.kept.Close()
}

// close closes the objects that nobody reads, the others after that.
func (h *handles) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, o := range h.open {
		errs = append(errs, o.put())
	}
	h.open, h.closed = nil, true
	return errors.Join(errs...)
}
