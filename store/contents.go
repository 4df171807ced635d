package store

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sort"
	"sync"

	"gateway/model"
)

const (
	// readWhole is the length up to which content is read and verified whole
	// although only a part of it was asked for. Longer content is verified when
	// its first byte is asked for.
	readWhole = 64 << 10
	// verifyMost is the length up to which content is verified before it is
	// sent. Longer content has an object of its own.
	verifyMost = 4 << 20
)

// errDamaged is in the error of content that is not what was kept.
var errDamaged = errors.New("the bytes kept are damaged")

// OpenContents opens contents as one: their kept bytes joined in the order of
// keys, wherever they are. What lies together is read together. Content may move
// while it is read, and is then looked for again. What is read is compared with
// the checksum of the kept bytes: damaged content is an error, not bytes. ctx is
// that of all reads; keys must not change until Close.
func (s *Store) OpenContents(ctx context.Context, set model.SetID, keys []model.ContentKey) (model.Kept, error) {
	where, err := s.locate(ctx, set, keys)
	if err != nil {
		return nil, fmt.Errorf("open %d contents: %w", len(keys), err)
	}
	c := &contents{s: s, ctx: ctx, set: set, keys: keys, ends: make([]int64, len(keys)), where: where}
	var end int64
	for i, p := range where.places {
		end += p.stored
		c.ends[i] = end
	}
	return c, nil
}

// contents is many contents as one.
type contents struct {
	s       *Store
	ctx     context.Context
	set     model.SetID
	keys    []model.ContentKey
	ends    []int64 // of each in the whole; it begins where the one before ends
	objects handles

	mu    sync.Mutex
	where *located // guarded by mu; replaced when content has moved
}

func (c *contents) Size() int64 { return c.start(len(c.ends)) }

func (c *contents) Close() error { return c.objects.close() }

func (c *contents) start(i int) int64 {
	if i == 0 {
		return 0
	}
	return c.ends[i-1]
}

// ReadAt implements [io.ReaderAt].
func (c *contents) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("read contents: negative offset")
	}
	rest := c.Size() - off
	if rest <= 0 {
		return 0, io.EOF
	}
	var end error
	if int64(len(b)) > rest {
		b, end = b[:rest], io.EOF
	}
	where, err := c.located(nil)
	if err == nil {
		err = c.read(where, b, off)
	}
	if errors.Is(err, model.ErrNotFound) {
		if where, err = c.located(where); err == nil {
			err = c.read(where, b, off)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("read %d bytes of contents at %d: %w", len(b), off, err)
	}
	return len(b), end
}

// located returns where the contents are; when that is still as in stale, it
// looks anew.
func (c *contents) located(stale *located) (*located, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.where != stale {
		return c.where, nil
	}
	where, err := c.s.locate(c.ctx, c.set, c.keys)
	if err != nil {
		return nil, err
	}
	for i, p := range where.places {
		if p.stored != c.ends[i]-c.start(i) {
			return nil, fmt.Errorf("content %d has another length than before: %w", c.keys[i], errDamaged)
		}
	}
	c.where = where
	return where, nil
}

// read fills b from off, run by run.
func (c *contents) read(where *located, b []byte, off int64) error {
	i := sort.Search(len(c.ends), func(i int) bool { return c.ends[i] > off })
	for len(b) > 0 {
		j := c.run(where, i, off+int64(len(b)))
		part := b[:min(int64(len(b)), c.ends[j-1]-off)]
		var err error
		if where.places[i].object == 0 {
			err = c.readRows(i, j, part, off)
		} else {
			err = c.readObject(where, i, j, part, off)
		}
		if err != nil {
			return err
		}
		b, off, i = b[len(part):], off+int64(len(part)), j
	}
	return nil
}

// run returns where the contents end that stand together from i on: one after
// another in an object, or in the database, as far as they begin before limit.
func (c *contents) run(where *located, i int, limit int64) int {
	const rows = 500 // of one query
	first := &where.places[i]
	at := first.start + first.stored
	j := i + 1
	for ; j < len(c.ends) && c.start(j) < limit; j++ {
		p := &where.places[j]
		if p.stored == 0 {
			continue
		}
		if p.object != first.object || p.object == 0 && j-i == rows || p.object != 0 && p.start != at {
			break
		}
		at += p.stored
	}
	return j
}

// readRows fills b from off with contents i to j, which lie in the database.
func (c *contents) readRows(i, j int, b []byte, off int64) error {
	keys := make([]model.ContentKey, 0, j-i)
	for k := i; k < j; k++ {
		if c.start(k) < c.ends[k] {
			keys = append(keys, c.keys[k])
		}
	}
	found := make(map[model.ContentKey][]byte, len(keys))
	query := "SELECT content_key, bytes FROM content_bytes WHERE set_id = ? AND content_key IN (" + marks(len(keys)) + ")"
	err := scanRows(c.ctx, c.s.reader.Statement.ConnPool, query, keyArgs(c.set, keys), func(key number, kept []byte) error {
		found[model.ContentKey(key)] = slices.Clone(kept)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read content: %w", err)
	}
	for k := i; k < j; k++ {
		kept, stored := found[c.keys[k]], c.ends[k]-c.start(k)
		switch {
		case stored == 0:
			continue
		case kept == nil:
			return fmt.Errorf("content %d: %w", c.keys[k], model.ErrNotFound)
		case int64(len(kept)) != stored:
			return fmt.Errorf("content %d has %d bytes: %w", c.keys[k], len(kept), errDamaged)
		}
		if skip := off - c.start(k); skip > 0 {
			copy(b, kept[skip:])
		} else {
			copy(b[-skip:], kept)
		}
	}
	return nil
}

// readObject fills b from off with contents i to j, which stand together in an
// object, and verifies them.
func (c *contents) readObject(where *located, i, j int, b []byte, off int64) error {
	object := where.names[where.places[i].object]
	kept, release, err := c.objects.acquire(object, func() (model.Kept, error) { return c.s.OpenObject(c.ctx, object) })
	if err != nil {
		return err
	}
	defer release()
	at := where.places[i].start + off - c.start(i)
	if err := readFull(kept, b, at); err != nil {
		return fmt.Errorf("object %s at %d: %w", object, at, err)
	}
	end := off + int64(len(b))
	for k := i; k < j; k++ {
		p := &where.places[k]
		if !p.summed || p.stored == 0 {
			continue
		}
		ok := true
		switch start := c.start(k); {
		case start >= off && c.ends[k] <= end:
			ok = crc32.ChecksumIEEE(b[start-off:c.ends[k]-off]) == p.sum
		case p.stored <= readWhole, start >= off && p.stored <= verifyMost:
			ok, err = verifyPart(kept, p)
		}
		if err != nil {
			return fmt.Errorf("object %s: content %d: %w", object, c.keys[k], err)
		}
		if !ok {
			return fmt.Errorf("object %s: content %d: %w", object, c.keys[k], errDamaged)
		}
	}
	return nil
}

var verifyBuffers = sync.Pool{New: func() any { return new([readWhole]byte) }}

// verifyPart reads what lies at p and tells whether it has its checksum.
func verifyPart(kept io.ReaderAt, p *place) (bool, error) {
	buf := verifyBuffers.Get().(*[readWhole]byte)
	defer verifyBuffers.Put(buf)
	var sum uint32
	for done := int64(0); done < p.stored; {
		b := buf[:min(p.stored-done, readWhole)]
		if err := readFull(kept, b, p.start+done); err != nil {
			return false, err
		}
		sum = crc32.Update(sum, crc32.IEEETable, b)
		done += int64(len(b))
	}
	return sum == p.sum, nil
}

// readFull fills b, or fails.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || err == io.EOF:
		return fmt.Errorf("it ends %d bytes early: %w", len(b)-n, errDamaged)
	}
	return err
}
