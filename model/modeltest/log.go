// Package modeltest is a set's log in memory: the plain reading of the rules,
// against which renderers and stores are tested. It shows the set as of any
// position and any published segment.
package modeltest

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"hash/crc32"
	"iter"
	"slices"
	"sort"

	"gateway/model"
)

// Log is one set's log. Its methods are not safe for concurrent use.
type Log struct {
	Set    model.Set
	Epoch  model.Epoch
	Limits model.Limits
	// Clock is the time of the next change unless the log is already there.
	Clock model.Time

	changes  []*model.Change
	segments []model.Segment
	tail     model.Cutter
	time     model.Time
	numbers  map[string]model.RecordNumber
	newest   map[model.RecordNumber]*model.Change
	keys     model.ContentKey
}

var _ model.Log = (*Log)(nil)

// Start is the creation time of sets made by New.
const Start = model.Time(1_767_225_600_000_000) // 2026-01-01T00:00:00Z

// New is the empty log of a public set with the default policy and the given
// name, published at base.
func New(name, base string) *Log {
	return Of(model.Set{
		ID: 1, Name: name, Title: "The " + name + " set", Author: model.Author{Name: "The Archive"}, Policy: model.DefaultPolicy(),
		FeedID: "urn:uuid:0b6f1c0e-7d53-4f2b-8a3d-6f1f6f0f2a10", CompleteID: "urn:uuid:0b6f1c0e-7d53-4f2b-8a3d-6f1f6f0f2a11",
		Created: Start,
	}, base)
}

// Of is the empty log of the given set, published at base.
func Of(set model.Set, base string) *Log {
	return &Log{
		Set:     set,
		Epoch:   model.Epoch{Number: 1, Reason: "created", BaseURL: base, From: set.Created, Began: set.Created},
		Clock:   set.Created + 1_000_000,
		time:    set.Created,
		numbers: map[string]model.RecordNumber{},
		newest:  map[model.RecordNumber]*model.Change{},
	}
}

// Text is a hosted resource with the given content, kept as it is.
func Text(role model.Role, name, mediaType, content string) model.Resource {
	return model.Resource{Role: role, Name: name, Type: mediaType, Content: ContentOf(content)}
}

// ContentOf is the description of content kept as it is.
func ContentOf(content string) model.Content {
	b := []byte(content)
	return model.Content{Length: int64(len(b)), Stored: int64(len(b)), SHA256: sha256.Sum256(b), MD5: md5.Sum(b), CRC32: crc32.ChecksumIEEE(b)}
}

// Commit appends a change for each record that differs from its state, and cuts
// as the policy says. Records are taken to be valid.
func (l *Log) Commit(records ...model.Record) []model.Outcome {
	limits := l.Limits.WithDefaults()
	var outcomes []model.Outcome
	for i := range records {
		r := &records[i]
		number, known := l.numbers[r.Identifier]
		if !known {
			number = model.RecordNumber(len(l.numbers) + 1)
		}
		current := l.newest[number]
		at := max(l.Clock, l.time+1)
		c, ok := model.Compare(current, r, number, l.Head()+1, at)
		if !ok {
			o := model.Outcome{Kind: model.Same}
			if current != nil {
				o.Number, o.Position = number, current.Position
			}
			outcomes = append(outcomes, o)
			continue
		}
		load := model.Bound(&c)
		if l.tail.Before(load, limits) {
			l.cut()
			c, _ = model.Compare(current, r, number, l.Head()+1, max(l.Clock, l.time+1))
		}
		for i := range c.Resources {
			if x := &c.Resources[i]; x.Key == 0 && !x.External() {
				l.keys++
				x.Key = l.keys
			}
		}
		l.numbers[r.Identifier] = number
		l.newest[number] = &c
		l.changes = append(l.changes, &c)
		l.time = c.Time
		outcomes = append(outcomes, model.Outcome{Number: number, Position: c.Position, Kind: c.Kind})
		if l.tail.Add(load, l.Set.Policy.SegmentSize) {
			l.cut()
		}
	}
	return outcomes
}

// Seal cuts the tail as age would; it tells whether there was one.
func (l *Log) Seal() bool {
	if l.tail.Changes == 0 {
		return false
	}
	l.cut()
	return true
}

func (l *Log) cut() {
	first, from := model.Position(1), l.Set.Created
	if n := len(l.segments); n > 0 {
		first, from = l.segments[n-1].Last+1, l.segments[n-1].Until
	}
	l.time++
	l.segments = append(l.segments, model.Segment{
		Number: model.SegmentNumber(len(l.segments) + 1), First: first, Last: l.Head(), From: from, Until: l.time,
	})
	l.tail = model.Cutter{}
}

// Head is the last position.
func (l *Log) Head() model.Position { return model.Position(len(l.changes)) }

// Cut returns the segments cut so far.
func (l *Log) Cut() []model.Segment { return slices.Clone(l.segments) }

// At returns the change at p.
func (l *Log) At(p model.Position) *model.Change { return l.changes[p-1] }

// Now is the view at the head with everything cut published.
func (l *Log) Now() model.View { return l.View(l.Head(), model.SegmentNumber(len(l.segments))) }

// View is the set as of position p with the segments up to published visible.
func (l *Log) View(p model.Position, published model.SegmentNumber) model.View {
	v := model.View{Set: l.Set, Epoch: l.Epoch, Revision: int64(p)*1000 + int64(published) + 1, Ready: true}
	v.Snapshot = model.Snapshot{Epoch: l.Epoch.Number, At: l.Set.Created}
	v.Head = model.Head{Position: p, Time: l.Set.Created, Changed: l.Set.Created}
	if p > 0 {
		v.Head.Changed = l.changes[p-1].Time
		v.Head.Time = v.Head.Changed
	}
	for _, s := range l.segments {
		if s.Last > p {
			break
		}
		v.Head.Segments = s.Number
		if s.Last == p {
			v.Head.Time = s.Until
		}
		if s.Number == published {
			v.Published = s
		}
		if s.Number == published+1 {
			v.Next = &s
		}
	}
	for c := range l.States(context.Background(), l.Set.ID, p, 0) {
		v.Head.Records++
		v.Head.Resources = v.Head.Resources.Plus(model.BoundState(c))
	}
	for _, c := range l.changes[:p] {
		v.Head.Changes[c.Kind]++
	}
	return v
}

// Changes implements [model.Log].
func (l *Log) Changes(_ context.Context, _ model.SetID, after, last model.Position) iter.Seq2[*model.Change, error] {
	return func(yield func(*model.Change, error) bool) {
		for _, c := range l.changes[after:min(last, l.Head())] {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// States implements [model.Log].
func (l *Log) States(_ context.Context, _ model.SetID, at model.Position, after model.RecordNumber) iter.Seq2[*model.Change, error] {
	return func(yield func(*model.Change, error) bool) {
		state := map[model.RecordNumber]*model.Change{}
		for _, c := range l.changes[:at] {
			state[c.Record] = c
		}
		numbers := make([]model.RecordNumber, 0, len(state))
		for n, c := range state {
			if c.Live() && n > after {
				numbers = append(numbers, n)
			}
		}
		sort.Slice(numbers, func(i, j int) bool { return numbers[i] < numbers[j] })
		for _, n := range numbers {
			if !yield(state[n], nil) {
				return
			}
		}
	}
}

// Segments implements [model.Log].
func (l *Log) Segments(_ context.Context, _ model.SetID, after model.SegmentNumber, limit int) ([]model.Segment, error) {
	from := min(int(after), len(l.segments))
	return slices.Clone(l.segments[from:min(from+limit, len(l.segments))]), nil
}
