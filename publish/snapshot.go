package publish

import (
	"context"
	"fmt"

	"gateway/model"
)

// snapshot renders the state at the head, or goes on with the snapshot that was
// being rendered when a publisher stopped.
func (w *work) snapshot(ctx context.Context) error {
	b := &w.backlog
	s := &snapshotting{work: w, state: model.RenderingSnapshot{Snapshot: model.Snapshot{
		Number:   b.View.Snapshot.Number + 1,
		Epoch:    b.View.Epoch.Number,
		Position: b.View.Head.Position,
		At:       b.View.Head.Time,
	}}}
	for i := range b.Superseded {
		s.state.Number = max(s.state.Number, b.Superseded[i].Number+1)
	}
	switch r := b.Rendering; {
	case r == nil:
		s.single = !b.View.Head.Resources.Exceeds(w.config.Limits)
	case r.Epoch == s.state.Epoch:
		s.state = *r
	default: // of an epoch that is over
		s.state.Number = r.Number + 1
	}
	if s.state.Position == 0 {
		return s.publish(ctx, &sink{})
	}
	return s.render(ctx)
}

// snapshotting renders one snapshot. Of several parts, each is stored with the
// progress it means before the next begins.
type snapshotting struct {
	*work
	state  model.RenderingSnapshot
	single bool

	out     *sink
	writers []model.PartWriter // of the open part; nil between parts
	load    model.Load         // of the open part
	keys    []model.ContentKey // of the open part's content, in order
}

func (s *snapshotting) render(ctx context.Context) error {
	v := s.backlog.View
	for c, err := range s.store.States(ctx, s.set, s.state.Position, s.state.LastRecord) {
		if err != nil {
			return err
		}
		load := model.BoundState(c)
		if s.writers != nil && s.load.Plus(load).Exceeds(s.config.Limits) {
			if err := s.closePart(ctx); err != nil {
				return err
			}
		}
		if s.writers == nil {
			if err := s.openPart(ctx, v); err != nil {
				return err
			}
		}
		for _, w := range s.writers {
			if err := w.Record(c); err != nil {
				return fmt.Errorf("part %d: %w", s.state.Parts, err)
			}
		}
		s.load = s.load.Plus(load)
		s.addKeys(c)
		s.state.LastRecord = c.Record
	}
	if s.state.Parts == 0 { // nothing is live: one empty part
		if err := s.openPart(ctx, v); err != nil {
			return err
		}
	}
	if s.writers != nil {
		if err := s.closePart(ctx); err != nil {
			return err
		}
	}
	if s.single {
		return s.publish(ctx, s.out)
	}
	out := &sink{ctx: ctx, objects: s.objects, snapshot: s.state.Number}
	for _, r := range s.config.Snapshots {
		if err := r.Index(ctx, v, s.state.Snapshot, out); err != nil {
			return fmt.Errorf("index: %w", err)
		}
	}
	return s.publish(ctx, out)
}

// addKeys notes the content of a record's resources.
func (s *snapshotting) addKeys(c *model.Change) {
	for i := range c.Resources {
		if r := &c.Resources[i]; !r.External() {
			s.keys = append(s.keys, r.Key)
			s.state.Resources++
		}
	}
}

func (s *snapshotting) openPart(ctx context.Context, v model.View) error {
	s.state.Parts++
	s.out = &sink{ctx: ctx, objects: s.objects, snapshot: s.state.Number}
	s.load, s.keys = model.Load{}, s.keys[:0]
	s.writers = make([]model.PartWriter, 0, len(s.config.Snapshots))
	for _, r := range s.config.Snapshots {
		w, err := r.Part(v, s.state.Snapshot, s.state.Parts, s.single, s.out)
		if err != nil {
			return fmt.Errorf("part %d: %w", s.state.Parts, err)
		}
		s.writers = append(s.writers, w)
	}
	return nil
}

// closePart ends the open part. The part of a single list waits for the
// publication of the snapshot; others are stored now.
func (s *snapshotting) closePart(ctx context.Context) error {
	for _, w := range s.writers {
		if err := w.Close(); err != nil {
			return fmt.Errorf("part %d: %w", s.state.Parts, err)
		}
	}
	s.writers = nil
	if err := s.arrange(ctx); err != nil {
		return fmt.Errorf("arrange the content of part %d: %w", s.state.Parts, err)
	}
	if s.single {
		return nil
	}
	if err := s.lease(ctx); err != nil {
		return err
	}
	progress := s.state
	err := s.store.Publish(ctx, model.Publication{
		Set: s.set, Epoch: s.state.Epoch, Holder: s.holder, Documents: s.out.documents, Packages: s.out.packages, Rendering: &progress, Pack: s.pending,
	})
	if err != nil {
		return fmt.Errorf("store part %d: %w", s.state.Parts, err)
	}
	s.pending = nil
	return nil
}

// publish makes the snapshot the newest, and gives the lease back unless a bulk
// writer goes on: it is the last thing done in a turn.
func (s *snapshotting) publish(ctx context.Context, out *sink) error {
	snapshot := s.state.Snapshot
	release := s.scope != Segments
	if release {
		s.letGo()
	}
	err := s.store.Publish(ctx, model.Publication{
		Set: s.set, Epoch: snapshot.Epoch, Holder: s.holder, Documents: out.documents, Packages: out.packages, Snapshot: &snapshot, Pack: s.pending,
		Ready: !s.backlog.View.Ready && len(s.failed) == 0, Release: release,
	})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	s.held = !release
	return nil
}
