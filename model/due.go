package model

// Backlog is what publishing a set still has to do, as one read of the store
// shows it.
type Backlog struct {
	View      View // Published and Next as the renderer furthest behind has them
	Positions map[string]SegmentNumber
	// Tail is the time of the first change after the last cut; 0 when the tail
	// is empty.
	Tail Time
	// Rendering is the snapshot whose parts are being made, if any.
	Rendering *RenderingSnapshot
	// Superseded are published snapshots that a newer one replaced.
	Superseded []Snapshot
	// Packed is the segment up to which content was packed.
	Packed SegmentNumber
	// Spent is when database bytes of packed content may go; 0 is never.
	Spent Time
	// Sparse: there are objects that hold content, and are more than half
	// without.
	Sparse bool
	// Holder has the set's publishing lease; "" when nobody does.
	Holder string
}

// RenderingSnapshot is a snapshot of several parts that is not published yet:
// its parts so far are stored, and it goes on after LastRecord.
type RenderingSnapshot struct {
	Snapshot
	LastRecord RecordNumber
}

// SealDue is when the tail must be cut because of its age; 0 is never.
func (b *Backlog) SealDue() Time {
	age := b.View.Set.Policy.SegmentAge
	if b.Tail == 0 || age <= 0 {
		return 0
	}
	return b.Tail + micros(age)
}

// SnapshotDue is when the next snapshot is due; 0 is not before the next change.
// A past time means now.
func (b *Backlog) SnapshotDue() Time {
	v := &b.View
	if b.Rendering != nil || !v.Ready && v.Snapshot.Number == 0 {
		return 1
	}
	changes := int64(v.Head.Position - v.Snapshot.Position)
	if changes == 0 {
		return 0
	}
	p := &v.Set.Policy
	if p.SnapshotChanges > 0 && changes >= max(int64(p.SnapshotChanges), int64(v.Head.Resources.Entries)/20) {
		return 1
	}
	return b.IntervalDue()
}

// IntervalDue is when a snapshot of what changed is due for the time that has
// passed; 0 is never.
func (b *Backlog) IntervalDue() Time {
	interval := b.View.Set.Policy.SnapshotInterval
	if interval <= 0 {
		return 0
	}
	return b.View.Snapshot.At + micros(interval)
}

// ExpiryDue is when the first superseded snapshot may go; 0 is never.
func (b *Backlog) ExpiryDue() Time {
	var due Time
	for i := range b.Superseded {
		if t := b.Superseded[i].Superseded + micros(b.View.Set.Policy.SnapshotKeep); due == 0 || t < due {
			due = t
		}
	}
	return due
}

// Due is when publishing must look at the set next: 1 for now, 0 for not before
// the next change.
func (b *Backlog) Due() Time {
	if b.View.Next != nil || !b.View.Ready || b.Packed < b.View.Head.Segments || b.Sparse {
		return 1
	}
	var due Time
	for _, t := range [...]Time{b.SealDue(), b.SnapshotDue(), b.ExpiryDue(), b.Spent} {
		if t != 0 && (due == 0 || t < due) {
			due = t
		}
	}
	return due
}

func micros(d Duration) Time { return Time(int64(d) / 1000) }
