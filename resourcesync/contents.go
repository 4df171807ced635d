package resourcesync

import (
	"context"
	"errors"
	"io"

	"gateway/model"
)

// contents is the kept bytes of a package's members after the manifest, of which
// a window is open at a time: what is to be sent in an hour may lie elsewhere by
// then, and nothing is looked up for a range that does not touch it. It serves
// one reader.
type contents struct {
	ctx    context.Context // of the request that reads
	source Source
	set    model.SetID
	layout *layout

	open        model.Kept // the members first ≤ i < last; nil: none
	first, last int
	windows     int // opened so far
}

// A window has windowMembers members and windowBytes bytes at most, but one
// member at least. Those that a read does not reach are opened only when reads
// have gone on from one window to the next.
const (
	windowMembers = 4096
	windowBytes   = 8 << 20
)

// Size implements [dump.Content].
func (c *contents) Size() int64 { return c.layout.index.ContentSize() }

// ReadAt implements [dump.Content].
func (c *contents) ReadAt(b []byte, off int64) (int, error) {
	x := c.layout.index
	n := 0
	for n < len(b) && off < x.ContentSize() {
		if err := c.move(x.ContentAt(off), off+int64(len(b)-n)); err != nil {
			return n, err
		}
		start, end := x.ContentStart(c.first), x.ContentStart(c.last)
		part := b[n:min(int64(len(b)), int64(n)+end-off)]
		m, err := c.open.ReadAt(part, off-start)
		n, off = n+m, off+int64(m)
		if m < len(part) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return n, err
		}
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// move opens a window with member i, for a read up to offset end, unless the open
// one has it.
func (c *contents) move(i int, end int64) error {
	if c.open != nil && c.first <= i && i < c.last {
		return nil
	}
	if i == 0 {
		return errors.New("the manifest is no content of the log")
	}
	c.close()
	x := c.layout.index
	start := x.ContentStart(i)
	if c.windows > 0 {
		end = start + windowBytes
	}
	end = min(end, start+windowBytes)
	last := i + 1
	for last < x.Len() && last-i < windowMembers && x.ContentStart(last) < end {
		last++
	}
	if x.ContentStart(last) > start+windowBytes && last > i+1 {
		last--
	}
	open, err := c.source.OpenContents(c.ctx, c.set, c.layout.keys[i-1:last-1])
	if err != nil {
		return err
	}
	c.open, c.first, c.last = open, i, last
	c.windows++
	return nil
}

func (c *contents) close() {
	if c.open != nil {
		_ = c.open.Close() // it was only read
		c.open = nil
	}
}
