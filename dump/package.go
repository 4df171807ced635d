package dump

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// Content is the kept bytes of a package's members in the order of its index,
// joined. It is read from several goroutines at a time when the package is.
// [Runs] is one.
type Content interface {
	io.ReaderAt
	Size() int64
}

// Package is a package as bytes that can be read anywhere. It holds no state of
// a reader, so that one serves any number of them.
type Package struct {
	index   *Index
	content Content
}

// NewPackage joins an index, to which nothing is added from now on, with the
// content of its members.
func NewPackage(x *Index, c Content) (*Package, error) {
	if x.Len() == 0 {
		return nil, errors.New("make a package: it has no manifest")
	}
	if x.ContentSize() != c.Size() {
		return nil, fmt.Errorf("make a package: its content has %d bytes, its index says %d", c.Size(), x.ContentSize())
	}
	return &Package{index: x, content: c}, nil
}

// Size is the length of the package.
func (p *Package) Size() int64 { return p.index.Size() }

// ReadAt implements [io.ReaderAt]. Each call reads content at most once, one
// piece for all members it touches, so large reads are worth it. When the
// content fails, or ends before the index says, it returns no bytes, and an
// error that is not [io.EOF].
func (p *Package) ReadAt(b []byte, off int64) (int, error) {
	x := p.index
	if off < 0 {
		return 0, errors.New("read a package: negative offset")
	}
	if off >= x.Size() {
		return 0, io.EOF
	}
	var end error
	if rest := x.Size() - off; int64(len(b)) > rest {
		b, end = b[:rest], io.EOF
	}
	n := 0
	if off < x.offset && len(b) > 0 {
		n = int(min(int64(len(b)), x.offset-off))
		if err := p.readMembers(b[:n], off); err != nil {
			return 0, fmt.Errorf("read a package at %d: %w", off, err)
		}
	}
	if n < len(b) {
		x.readDirectory(b[n:], off+int64(n)-x.offset)
	}
	return len(b), end
}

// readMembers fills b with headers and content from off, all before the
// directory. The content is read into the end of b, in one piece, and then moved
// to the front, a member at a time, as headers are put between: what is written
// never overtakes what is still to be moved, because the headers that are
// missing are just as long as the gap.
func (p *Package) readMembers(b []byte, off int64) error {
	x := p.index
	end := off + int64(len(b))
	i := x.memberAt(off)
	from, to := x.contentBefore(i, off), x.contentBefore(x.memberAt(end-1), end)
	kept := b[int64(len(b))-(to-from):]
	if err := readFull(p.content, kept, from); err != nil {
		return err
	}
	skip := int(min(off-x.members[i].offset, maxLocal)) // within the header of i
	for ; len(b) > 0; i++ {
		var scratch [maxLocal]byte
		header := x.appendLocal(scratch[:0], i)
		b = b[copy(b, header[min(skip, len(header)):]):]
		n := copy(b, kept[:min(int64(len(kept)), x.contentEnd(i)-from)])
		b, kept, from, skip = b[n:], kept[n:], from+int64(n), 0
	}
	return nil
}

func (x *Index) contentEnd(i int) int64 { return x.members[i].content + x.stored(i) }

// readDirectory fills b from off of the central directory and what follows it.
func (x *Index) readDirectory(b []byte, off int64) {
	if off < x.directory {
		i := x.centralAt(off)
		skip := off - int64(x.members[i].directory)
		for ; len(b) > 0 && i < len(x.members); i++ {
			var scratch [maxCentral]byte
			b = b[copy(b, x.appendCentral(scratch[:0], i)[skip:]):]
			skip = 0
		}
		off = x.directory
	}
	var scratch [end64Fixed + locatorFixed + endFixed]byte
	copy(b, x.appendEnd(scratch[:0])[off-x.directory:])
}

// readFull reads all of b or fails; that content ends early is no good end of a
// package.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	if len(b) == 0 {
		return nil
	}
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// window is how much of a package WriteRange reads at a time.
const window = 1 << 20

var windows = sync.Pool{New: func() any { return new([window]byte) }}

// WriteRange writes the n bytes at off to w, a window of 1 MiB at a time, and
// tells how many w took. It fails unless it wrote n.
func (p *Package) WriteRange(w io.Writer, off, n int64) (int64, error) {
	buf := windows.Get().(*[window]byte)
	defer windows.Put(buf)
	var written int64
	for written < n {
		part := buf[:min(n-written, window)]
		if err := readFull(p, part, off+written); err != nil {
			return written, err
		}
		k, err := w.Write(part)
		written += int64(k)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
