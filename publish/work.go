package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"gateway/model"
)

// batch is how many segments of a renderer become visible in one transaction at
// most, and batchBytes how many bytes of documents end it.
const (
	batch      = 16
	batchBytes = 32 << 20
)

// work is one publisher's turn at one set.
type work struct {
	*Publisher
	set   model.SetID
	scope Scope

	backlog model.Backlog
	held    bool             // the lease is ours and not given back
	unkeep  func()           // ends the keeping of the lease; nil when nobody keeps it
	failed  map[string]error // renderers that failed in this turn, by name
	pending *model.Pack      // to be taken with the next publication of the snapshot
}

// run does the work in the order that keeps the greatest part visible soonest:
// what is cut, then snapshots. It returns [model.ErrHeadMoved] when another
// publisher has the set.
func (w *work) run(ctx context.Context) (err error) {
	w.failed = map[string]error{}
	if err := w.read(ctx); err != nil {
		return err
	}
	defer func() {
		if w.letGo(); w.scope != Segments {
			err = errors.Join(err, w.release(context.WithoutCancel(ctx)))
		}
	}()
	if !w.anything() {
		return nil
	}
	if err := w.lease(ctx); err != nil {
		return err
	}
	if w.scope >= Due && w.past(w.backlog.SealDue()) {
		if _, err := w.store.Seal(ctx, w.set); err != nil {
			return fmt.Errorf("cut by age: %w", err)
		}
		if err := w.read(ctx); err != nil {
			return err
		}
	}
	for w.behind() {
		if err := w.segments(ctx); err != nil {
			return err
		}
		if err := w.read(ctx); err != nil {
			return err
		}
	}
	if err := w.content(ctx); err != nil {
		return err
	}
	if w.frees() {
		if err := w.free(ctx); err != nil {
			return err
		}
	}
	if w.expires() {
		if err := w.expire(ctx); err != nil {
			return err
		}
	}
	if w.wantsSnapshot() {
		if err := w.snapshot(ctx); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	} else if w.completes() {
		if err := w.store.Publish(ctx, model.Publication{Set: w.set, Epoch: w.backlog.View.Epoch.Number, Holder: w.holder, Ready: true}); err != nil {
			return fmt.Errorf("complete the epoch: %w", err)
		}
	}
	return failuresOf(w.failed)
}

// renderFailure is what some renderers failed with in a turn in which the others
// did their work.
type renderFailure struct{ error }

func (f renderFailure) Unwrap() error { return f.error }

func failuresOf(failed map[string]error) error {
	if len(failed) == 0 {
		return nil
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		all = append(all, failed[name])
	}
	return renderFailure{errors.Join(all...)}
}

// content packs what is not packed. A failure is noted, and holds up nothing
// else.
func (w *work) content(ctx context.Context) error {
	for _, step := range []struct {
		wanted bool
		do     func(context.Context) error
	}{{w.unpacked(), w.packs}, {w.sparse(), w.compact}} {
		if !step.wanted || w.failed[model.Packer] != nil {
			continue
		}
		err := step.do(ctx)
		if errors.Is(err, model.ErrHeadMoved) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			w.failed[model.Packer] = fmt.Errorf("pack: %w", err)
		}
	}
	return nil
}

func (w *work) read(ctx context.Context) error {
	b, err := w.store.Backlog(ctx, w.set)
	if err != nil {
		return fmt.Errorf("read backlog: %w", err)
	}
	w.backlog = b
	w.held = b.Holder == w.holder
	return nil
}

// anything tells whether there is work of the scope, so that a set without any
// costs no lease.
func (w *work) anything() bool {
	return w.behind() || w.unpacked() || w.sparse() || w.frees() || w.expires() || w.wantsSnapshot() || w.completes() ||
		w.scope >= Due && w.past(w.backlog.SealDue())
}

// unpacked tells whether content waits to be packed.
func (w *work) unpacked() bool {
	return w.scope >= Due && w.backlog.Packed < w.backlog.View.Head.Segments
}

// sparse tells whether there are packs to be given up.
func (w *work) sparse() bool { return w.scope >= Due && w.backlog.Sparse }

// frees tells whether the database holds bytes whose time is over.
func (w *work) frees() bool { return w.scope >= Due && w.past(w.backlog.Spent) }

// expires tells whether the time of a superseded snapshot is over.
func (w *work) expires() bool { return w.past(w.backlog.ExpiryDue()) }

// behind tells whether a renderer that works has segments to publish.
func (w *work) behind() bool {
	for _, r := range w.config.Renderers {
		if w.failed[r.Name()] == nil && w.backlog.Positions[r.Name()] < w.backlog.View.Head.Segments {
			return true
		}
	}
	return false
}

func (w *work) wantsSnapshot() bool {
	b := &w.backlog
	missing := !b.View.Ready && b.View.Snapshot.Number == 0 // an epoch begins with one
	changed := b.View.Head.Position != b.View.Snapshot.Position || missing
	switch w.scope {
	case Segments:
		// A bulk writer changes the set faster than snapshots of every so many
		// changes are worth their while. But it may write for hours.
		return missing || changed && w.past(b.IntervalDue())
	case First:
		return changed && (b.View.Snapshot.Number == 0 || w.past(b.SnapshotDue()))
	case Snapshot:
		return changed || b.Rendering != nil
	}
	return w.past(b.SnapshotDue())
}

// completes tells whether all there must be in a new epoch is published, but
// nobody has said so: a renderer failed when its first snapshot was taken.
func (w *work) completes() bool {
	v := &w.backlog.View
	return !v.Ready && v.Snapshot.Number > 0 && len(w.failed) == 0 && !w.behind()
}

// past tells whether a due time, 0 for never, has come.
func (w *work) past(due model.Time) bool {
	return due != 0 && due <= model.TimeOf(w.config.Now())
}

// segments publishes the next segments of every renderer that is behind. A
// renderer that fails keeps its position and its error.
func (w *work) segments(ctx context.Context) error {
	if err := w.lease(ctx); err != nil {
		return err
	}
	type result struct {
		advance   model.Advance
		documents []model.Document
		packages  []model.Package
		err       error
	}
	results := make([]result, len(w.config.Renderers))
	var group sync.WaitGroup
	for i, r := range w.config.Renderers {
		if w.failed[r.Name()] != nil {
			continue
		}
		group.Go(func() {
			out := &sink{ctx: ctx, objects: w.objects}
			advance, err := w.seal(ctx, r, out)
			results[i] = result{advance, out.documents, out.packages, err}
		})
	}
	group.Wait()

	publication := model.Publication{Set: w.set, Epoch: w.backlog.View.Epoch.Number, Holder: w.holder}
	for i, r := range w.config.Renderers {
		switch {
		case results[i].err != nil:
			w.failed[r.Name()] = fmt.Errorf("renderer %s after segment %d: %w", r.Name(), w.backlog.Positions[r.Name()], results[i].err)
		case results[i].advance.To > results[i].advance.From:
			publication.Advances = append(publication.Advances, results[i].advance)
			publication.Documents = append(publication.Documents, results[i].documents...)
			publication.Packages = append(publication.Packages, results[i].packages...)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(publication.Advances) == 0 {
		return nil
	}
	publication.Release = w.scope != Segments && len(w.failed) == 0 && w.last(publication.Advances) &&
		!w.unpacked() && !w.sparse() && !w.frees() && !w.expires() && !w.wantsSnapshot() && w.backlog.View.Ready
	if publication.Release {
		w.letGo()
	}
	if err := w.store.Publish(ctx, publication); err != nil {
		return fmt.Errorf("publish segments: %w", err)
	}
	w.held = !publication.Release
	return nil
}

// last tells whether the advances bring every renderer to the last cut.
func (w *work) last(advances []model.Advance) bool {
	position := map[string]model.SegmentNumber{}
	for _, a := range advances {
		position[a.Renderer] = a.To
	}
	for _, r := range w.config.Renderers {
		if max(position[r.Name()], w.backlog.Positions[r.Name()]) < w.backlog.View.Head.Segments {
			return false
		}
	}
	return true
}

// seal renders the next segments of r into out.
func (w *work) seal(ctx context.Context, r Renderer, out *sink) (model.Advance, error) {
	at := w.backlog.Positions[r.Name()]
	advance := model.Advance{Renderer: r.Name(), From: at, To: at}
	segments, err := w.store.Segments(ctx, w.set, max(at-1, 0), batch+1)
	if err != nil {
		return advance, err
	}
	v := w.backlog.View
	v.Published, v.Next = model.Segment{}, nil
	if at > 0 && len(segments) > 0 {
		v.Published, segments = segments[0], segments[1:]
	}
	for i := range segments {
		v.Next = &segments[i]
		if err := r.Seal(ctx, w.store, v, segments[i], out); err != nil {
			return advance, fmt.Errorf("seal segment %d: %w", segments[i].Number, err)
		}
		v.Published = segments[i]
		advance.To = segments[i].Number
		if out.size() >= batchBytes {
			break
		}
	}
	return advance, nil
}

// free gives back the room of bytes whose time is over. After a while the rest
// is left to the next turn, so that snapshots do not wait for it.
func (w *work) free(ctx context.Context) error {
	const most = 64
	for range most {
		if err := w.lease(ctx); err != nil {
			return err
		}
		if more, err := w.store.Free(ctx, w.set); err != nil || !more {
			return err
		}
	}
	return nil
}

// expire lets go of superseded snapshots whose time is over.
func (w *work) expire(ctx context.Context) error {
	b := &w.backlog
	now := model.TimeOf(w.config.Now())
	keep := model.Time(int64(b.View.Set.Policy.SnapshotKeep) / 1000)
	publication := model.Publication{Set: w.set, Epoch: b.View.Epoch.Number, Holder: w.holder}
	for _, s := range b.Superseded {
		if s.Superseded+keep <= now {
			publication.Expire = append(publication.Expire, s.Number)
		}
	}
	if err := w.store.Publish(ctx, publication); err != nil {
		return fmt.Errorf("expire snapshots: %w", err)
	}
	return nil
}
