package publish_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"slices"
	"time"

	"gateway/model"
)

// contentOf is the content of resource r of the memory's log: as long as the log
// says, and another for each key.
func contentOf(r *model.Resource) []byte {
	return bytes.Repeat([]byte{byte(r.Key)}, int(r.Content.Stored))
}

// fresh yields the content that the changes of a segment brought.
func (m *memory) fresh(seg model.Segment) iter.Seq[*model.Resource] {
	return func(yield func(*model.Resource) bool) {
		for p := seg.First; p <= seg.Last; p++ {
			c := m.At(p)
			for i := range c.Resources {
				if r := &c.Resources[i]; r.Position == p && !yield(r) {
					return
				}
			}
		}
	}
}

func (m *memory) Loose(_ context.Context, _ model.SetID, after, last model.SegmentNumber) iter.Seq2[model.Loose, error] {
	return func(yield func(model.Loose, error) bool) {
		for _, seg := range m.Cut()[after:last] {
			for r := range m.fresh(seg) {
				m.mu.Lock()
				_, placed := m.places[r.Key]
				m.mu.Unlock()
				if !placed && !yield(model.Loose{Segment: seg.Number, Key: r.Key, Kept: contentOf(r)}, nil) {
					return
				}
			}
		}
	}
}

// resource returns the resource whose content has the key. Keys come one after
// another in the log.
func (m *memory) resource(key model.ContentKey) *model.Resource {
	for p := model.Position(len(m.resources)) + 1; p <= m.Head(); p++ {
		c := m.At(p)
		m.resources = append(m.resources, nil)
		for i := range c.Resources {
			if r := &c.Resources[i]; r.Position == p {
				m.resources[p-1] = r
			}
		}
	}
	for _, r := range m.resources[key-1:] { // changes without content are few
		if r != nil && r.Key == key {
			return r
		}
	}
	return nil
}

func (m *memory) Places(_ context.Context, _ model.SetID, keys []model.ContentKey) ([]model.Place, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	places := make([]model.Place, len(keys))
	for i, key := range keys {
		p, ok := m.places[key]
		if !ok {
			p.Stored = m.resource(key).Content.Stored
		}
		places[i] = p
	}
	return places, nil
}

// content is what is kept under the key, from where it is.
func (m *memory) content(key model.ContentKey) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.places[key]
	if !ok {
		if key <= m.freed {
			return nil, fmt.Errorf("content %d was freed and has no place", key)
		}
		return contentOf(m.resource(key)), nil
	}
	object := m.objects[p.Object]
	if p.Start+p.Stored > int64(len(object)) {
		return nil, fmt.Errorf("content %d lies outside of object %s: %w", key, p.Object, model.ErrNotFound)
	}
	return object[p.Start:][:p.Stored], nil
}

func (m *memory) OpenContents(_ context.Context, _ model.SetID, keys []model.ContentKey) (model.Kept, error) {
	var all []byte
	for _, key := range keys {
		b, err := m.content(key)
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return kept{bytes.NewReader(all)}, nil
}

// takes tells whether p is taken as it stands.
func (m *memory) takes(p *model.Pack) bool {
	return (p.To == 0 || p.From == m.packed) && model.TimeOf(m.now) <= p.Until
}

func (m *memory) take(p *model.Pack) {
	var start int64
	for _, c := range p.Contents {
		b := m.objects[p.Object][start:][:c.Stored]
		if crc32.ChecksumIEEE(b) != c.Sum || !bytes.Equal(b, contentOf(m.resource(c.Key))) {
			m.t.Errorf("content %d is not what pack %s holds at %d", c.Key, p.Object, start)
		}
		m.places[c.Key] = model.Place{Object: p.Object, Start: start, Stored: c.Stored}
		start += c.Stored
	}
	if p.To > 0 {
		m.packed = p.To
		for r := range m.fresh(m.Cut()[p.To-1]) {
			m.spent, m.due = r.Key, model.TimeOf(m.now.Add(time.Hour))
		}
	}
}

func (m *memory) Pack(_ context.Context, p model.Pack) error {
	return m.faults.around("pack", func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.holder != p.Holder && m.now.Before(m.until) || !m.takes(&p) {
			return model.ErrHeadMoved
		}
		m.take(&p)
		if p.Release {
			m.until = time.Time{}
		}
		m.writes++
		return nil
	})
}

// sparse returns the content of objects that are more than half without.
func (m *memory) sparse() []model.ContentKey {
	held := map[string]int64{}
	for _, p := range m.places {
		held[p.Object] += p.Stored
	}
	var keys []model.ContentKey
	for key, p := range m.places {
		if held[p.Object]*2 < int64(len(m.objects[p.Object])) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (m *memory) Sparse(context.Context, model.SetID) iter.Seq2[model.ContentKey, error] {
	m.mu.Lock()
	keys := m.sparse()
	m.mu.Unlock()
	return func(yield func(model.ContentKey, error) bool) {
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
	}
}

func (m *memory) Free(context.Context, model.SetID) (more bool, err error) {
	err = m.faults.around("free", func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.due == 0 || m.due > model.TimeOf(m.now) {
			return nil
		}
		m.freed = min(m.freed+40, m.spent)
		if more = m.freed < m.spent; !more {
			m.due = 0
		}
		m.writes++
		return nil
	})
	return more, err
}

// checkContents reads the content of every change.
func (m *memory) checkContents() {
	m.t.Helper()
	for p := model.Position(1); p <= m.Head(); p++ {
		c := m.At(p)
		for i := range c.Resources {
			r := &c.Resources[i]
			b, err := m.content(r.Key)
			if err != nil || !bytes.Equal(b, contentOf(r)) {
				m.t.Errorf("content %d: %q, %v", r.Key, b, err)
			}
		}
	}
}

// damagedBucket loses a byte of each object it creates.
type damagedBucket struct{ bucket }

func (b damagedBucket) Create(ctx context.Context, key string, r io.Reader) (int64, error) {
	n, err := b.bucket.Create(ctx, key, r)
	if err == nil {
		b.objects[key][n/2] ^= 1
	}
	return n, err
}
