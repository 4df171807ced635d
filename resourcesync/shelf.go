package resourcesync

import (
	"container/list"
	"context"
	"fmt"
	"io"
	"sync"

	"gateway/dump"
	"gateway/model"
)

// shelf writes packages, and keeps the layouts of those asked for lately: a
// layout takes a scan of the log, which the next range of the same package must
// not take again. A package asked for by many at once is laid out once.
type shelf struct {
	source Source
	most   int           // members of all layouts kept
	laying chan struct{} // holds a token for each layout being made

	mu     sync.Mutex // guards what follows
	byPath map[string]*order
	recent *list.List // of *order that are laid out, newest first
	held   int        // members of those in recent
}

const (
	// shelfMembers bounds the layouts that are kept: some 100 bytes a member.
	shelfMembers = 500_000
	// shelfLaying is how many layouts are made at a time.
	shelfLaying = 2
)

func newShelf(source Source) *shelf {
	return &shelf{
		source: source, most: shelfMembers, laying: make(chan struct{}, shelfLaying),
		byPath: map[string]*order{}, recent: list.New(),
	}
}

// layout is what a package consists of.
type layout struct {
	index *dump.Index
	keys  []model.ContentKey // of the members after the manifest
}

// order is a layout that somebody waits for, or that is kept.
type order struct {
	path    string
	done    chan struct{} // closed once the fields below are set
	layout  *layout
	err     error
	cancel  context.CancelFunc
	waiting int           // guarded by the shelf's mu, as is
	element *list.Element // in recent; nil: not laid out, or not kept
}

// write writes n bytes of p at off to w. The manifest comes first in a package
// and goes out while the rest is being laid out.
func (s *shelf) write(ctx context.Context, w io.Writer, v *model.View, p *model.Package, off, n int64) error {
	if err := s.writeTo(ctx, w, v, p, off, n); err != nil {
		return fmt.Errorf("write %s: %w", p.Path, err)
	}
	return nil
}

func (s *shelf) writeTo(ctx context.Context, w io.Writer, v *model.View, p *model.Package, off, n int64) error {
	manifest, err := s.source.Document(ctx, v.Set.ID, p.Manifest)
	if err != nil {
		return err
	}
	head, err := newIndex(p, &manifest.Content, 0)
	if err != nil {
		return err
	}
	first := min(n, max(0, head.MembersSize()-off)) // bytes of the manifest
	var o *order
	if first < n {
		o = s.order(ctx, v, p, &manifest.Content)
		defer s.leave(o)
	}
	if first > 0 {
		if err := s.writeManifest(ctx, w, head, &manifest, off, first); err != nil {
			return err
		}
	}
	if first == n {
		return nil
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if o.err != nil {
		return o.err
	}
	c := &contents{ctx: ctx, source: s.source, set: v.Set.ID, layout: o.layout}
	defer c.close()
	return writeRange(w, o.layout.index, c, off+first, n-first)
}

// writeManifest writes what a package of the manifest alone has in common with
// the whole.
func (s *shelf) writeManifest(ctx context.Context, w io.Writer, head *dump.Index, manifest *model.Document, off, n int64) error {
	kept, err := s.source.OpenObject(ctx, manifest.Object)
	if err != nil {
		return err
	}
	defer kept.Close()
	return writeRange(w, head, io.NewSectionReader(kept, 0, manifest.Content.Stored), off, n)
}

func writeRange(w io.Writer, x *dump.Index, c dump.Content, off, n int64) error {
	p, err := dump.NewPackage(x, c)
	if err != nil {
		return err
	}
	_, err = p.WriteRange(w, off, n)
	return err
}

// order is the layout of p, being made if there is none. The caller leaves it.
func (s *shelf) order(ctx context.Context, v *model.View, p *model.Package, manifest *model.Content) *order {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.byPath[p.Path]
	if o == nil {
		// It belongs to all who wait, so it outlives the request of the first.
		laying, cancel := context.WithCancel(context.WithoutCancel(ctx))
		o = &order{path: p.Path, done: make(chan struct{}), cancel: cancel}
		s.byPath[p.Path] = o
		go func() {
			l, err := s.lay(laying, v, p, manifest)
			s.finish(o, l, err)
		}()
	}
	if o.element != nil {
		s.recent.MoveToFront(o.element)
	}
	o.waiting++
	return o
}

// leave ends the interest of one caller. What nobody waits for is given up.
func (s *shelf) leave(o *order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.waiting--
	select {
	case <-o.done:
	default:
		if o.waiting == 0 {
			o.cancel()
			delete(s.byPath, o.path)
		}
	}
}

func (s *shelf) finish(o *order, l *layout, err error) {
	o.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	o.layout, o.err = l, err
	close(o.done)
	switch {
	case s.byPath[o.path] != o: // given up
	case err != nil:
		delete(s.byPath, o.path)
	default:
		o.element = s.recent.PushFront(o)
		s.held += l.index.Len()
		for s.held > s.most {
			s.drop(s.recent.Back().Value.(*order))
		}
	}
}

// drop lets go of a layout; who uses it still has it.
func (s *shelf) drop(o *order) {
	s.recent.Remove(o.element)
	o.element = nil
	delete(s.byPath, o.path)
	s.held -= o.layout.index.Len()
}

// lay makes the layout of p from the log, and holds it against what was
// published.
func (s *shelf) lay(ctx context.Context, v *model.View, p *model.Package, manifest *model.Content) (*layout, error) {
	select {
	case s.laying <- struct{}{}:
		defer func() { <-s.laying }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	x, err := newIndex(p, manifest, p.Members)
	if err != nil {
		return nil, err
	}
	l := &layout{index: x, keys: make([]model.ContentKey, 0, p.Members)}
	if p.Segment > 0 {
		err = l.addChanges(ctx, s.source, v, p.Segment)
	} else {
		err = l.addStates(ctx, s.source, v.Set.ID, p)
	}
	if err != nil {
		return nil, fmt.Errorf("lay out: %w", err)
	}
	if x.Len() != p.Members+1 || x.Size() != p.Size || x.Digest() != p.Digest {
		return nil, fmt.Errorf("lay out: the log has %d members and %d bytes, published were %d and %d, or other contents",
			x.Len()-1, x.Size(), p.Members, p.Size)
	}
	return l, nil
}

func (l *layout) addStates(ctx context.Context, log model.Log, set model.SetID, p *model.Package) error {
	var path []byte
	for c, err := range log.States(ctx, set, p.Position, p.First-1) {
		if err != nil {
			return err
		}
		if c.Record > p.Last {
			break
		}
		for i := range c.Resources {
			r := &c.Resources[i]
			if r.External() {
				continue
			}
			path = dump.AppendResourcePath(path[:0], c.Record, r.Name)
			if err := l.add(path, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *layout) addChanges(ctx context.Context, log model.Log, v *model.View, n model.SegmentNumber) error {
	segments, err := log.Segments(ctx, v.Set.ID, n-1, 1)
	if err != nil {
		return err
	}
	if len(segments) == 0 || segments[0].Number != n {
		return fmt.Errorf("segment %d: %w", n, model.ErrNotFound)
	}
	var path []byte
	for c, err := range log.Changes(ctx, v.Set.ID, max(segments[0].First-1, v.Epoch.First), segments[0].Last) {
		if err != nil {
			return err
		}
		for i := range c.Resources {
			r := &c.Resources[i]
			if r.Kind == model.Same || r.External() {
				continue
			}
			path = dump.AppendChangePath(path[:0], c.Position, r.Name)
			if err := l.add(path, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *layout) add(path []byte, r *model.Resource) error {
	l.keys = append(l.keys, r.Key)
	return l.index.Add(path, &r.Content, r.Time)
}
