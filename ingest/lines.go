package ingest

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"
)

// chunk is a run of whole lines of one input, in the order in which they are to
// be committed.
type chunk struct {
	input string
	line  int64  // number of its first line
	data  []byte // lines with their ends; of the last one of an input it may lack
	// tooLong, when not 0, is the length of the one line that this stands for:
	// its bytes were skipped.
	tooLong int64
	// err, when not nil, is how the input ended; then there is no data.
	err error
	// release gives the memory of data back.
	release func()
	// out yields what became of the lines, in order; the worker closes it.
	out chan []result
}

// splitter reads inputs and hands on their lines in chunks.
type splitter struct {
	size    int // of a chunk
	maxLine int
	read    *atomic.Int64 // bytes of the inputs
	emit    func(*chunk) bool
	free    chan []byte // chunks to use again
	// big holds the one buffer for a line that no chunk can hold; it is missing
	// while such a line is under way, so that there are never two.
	big chan []byte
}

func newSplitter(size, maxLine int, read *atomic.Int64, emit func(*chunk) bool) *splitter {
	s := &splitter{size: size, maxLine: maxLine, read: read, emit: emit, free: make(chan []byte, 16), big: make(chan []byte, 1)}
	s.big <- nil
	return s
}

// run reads all inputs, until ctx is done. An input that fails ends with a chunk
// that says so, and the next one follows.
func (s *splitter) run(ctx context.Context, inputs []Input) {
	for _, in := range inputs {
		line := int64(1)
		if err := s.input(ctx, in, &line); err != nil && ctx.Err() == nil {
			s.emit(&chunk{input: in.Name, line: line, err: err})
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (s *splitter) input(ctx context.Context, in Input, line *int64) error {
	f, err := in.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	src, free, err := decompress(counter{f, s.read})
	if err != nil {
		return err
	}
	defer free()

	buf, release := s.buffer()
	defer func() { release() }()
	clean := 0 // bytes at the front of buf that hold no line's end
	for begun := false; ; begun = true {
		var end error
		buf, end = fill(src, buf, s.size)
		if bom := []byte("\ufeff"); !begun && bytes.HasPrefix(buf, bom) {
			buf = append(buf[:0], buf[len(bom):]...)
		}
		cut := 0
		if n := bytes.LastIndexByte(buf[clean:], '\n'); n >= 0 {
			cut = clean + n + 1
		}
		if end == io.EOF {
			cut = len(buf)
		}
		if cut > 0 {
			rest, releaseRest := s.buffer()
			rest = append(rest, buf[cut:]...)
			n := bytes.Count(buf[:cut], []byte{'\n'})
			if !s.emit(&chunk{input: in.Name, line: *line, data: buf[:cut], release: release}) {
				return ctx.Err()
			}
			*line += int64(n)
			buf, release = rest, releaseRest
		}
		clean = len(buf)
		switch {
		case end == io.EOF:
			return nil
		case end != nil:
			return end
		case len(buf) > s.maxLine+1: // a line of the most bytes may end in CR LF
			if buf, err = s.skip(in.Name, line, src, buf); err != nil {
				return err
			}
			clean = 0
		case len(buf)+s.size > cap(buf):
			if buf, release, err = s.grow(ctx, buf, release); err != nil {
				return err
			}
		}
	}
}

// fill appends up to size bytes of r to buf, as many as there are and fit.
func fill(r io.Reader, buf []byte, size int) ([]byte, error) {
	most := min(len(buf)+size, cap(buf))
	for len(buf) < most {
		n, err := r.Read(buf[len(buf):most])
		buf = buf[:len(buf)+n]
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// buffer is an empty buffer for a chunk and what is left over from the one
// before.
func (s *splitter) buffer() ([]byte, func()) {
	var b []byte
	select {
	case b = <-s.free:
	default:
		b = make([]byte, 0, 2*s.size)
	}
	return b, func() {
		select {
		case s.free <- b:
		default:
		}
	}
}

// grow moves buf to one with twice the room, at first by waiting for the big
// one.
func (s *splitter) grow(ctx context.Context, buf []byte, release func()) ([]byte, func(), error) {
	var b []byte
	if cap(buf) <= 2*s.size {
		select {
		case b = <-s.big:
		case <-ctx.Done():
			return buf, release, ctx.Err()
		}
		defer release()
	}
	if cap(b) <= cap(buf) {
		b = make([]byte, 0, min(2*cap(buf), s.maxLine+2*s.size+2))
	}
	b = append(b, buf...)
	return b, func() { s.big <- b[:0] }, nil
}

// skip reads over the rest of a line that is too long, of which buf holds the
// beginning, and returns what follows it.
func (s *splitter) skip(input string, line *int64, src io.Reader, buf []byte) ([]byte, error) {
	length, n := int64(len(buf)), -1
	var end error
	for n < 0 && end == nil {
		buf, end = fill(src, buf[:0], s.size)
		if n = bytes.IndexByte(buf, '\n'); n < 0 {
			length += int64(len(buf))
		}
	}
	switch {
	case n >= 0:
		length += int64(n)
		buf = append(buf[:0], buf[n+1:]...)
	case end == io.EOF:
		buf = buf[:0]
	default:
		return buf, end // the line is not complete
	}
	if !s.emit(&chunk{input: input, line: *line, tooLong: length, release: func() {}}) {
		return buf, context.Canceled
	}
	*line++
	return buf, nil
}
