package dump

import (
	"errors"
	"fmt"
	"io"
	"sort"
)

// Runs is [Content] that lies in several places: in packs, where many members
// stand together, in objects of their own, in memory. It grows by Append and is
// then only read, by as many goroutines as its places allow.
type Runs struct {
	runs []run
}

// run is bytes of the content that stand together in from.
type run struct {
	from io.ReaderAt
	at   int64 // in from
	end  int64 // in the content; it begins where the run before ends
}

// Append adds length bytes at at of from. What goes on where the last run ended
// in the same place makes that run longer, and is read with it. from must be
// comparable, a pointer say.
func (r *Runs) Append(from io.ReaderAt, at, length int64) {
	if length <= 0 {
		return
	}
	start := r.Size()
	if n := len(r.runs); n > 0 {
		last := &r.runs[n-1]
		if last.from == from && last.at+last.end-r.start(n-1) == at {
			last.end += length
			return
		}
	}
	r.runs = append(r.runs, run{from: from, at: at, end: start + length})
}

// Size is the length of all runs.
func (r *Runs) Size() int64 { return r.start(len(r.runs)) }

func (r *Runs) start(i int) int64 {
	if i == 0 {
		return 0
	}
	return r.runs[i-1].end
}

// ReadAt implements [io.ReaderAt], with one read for each run that it touches.
func (r *Runs) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("read content: negative offset")
	}
	n := 0
	i := sort.Search(len(r.runs), func(i int) bool { return r.runs[i].end > off })
	for ; n < len(b) && i < len(r.runs); i++ {
		run := &r.runs[i]
		at := run.at + off - r.start(i)
		part := b[n:min(int64(len(b)), int64(n)+run.end-off)]
		if err := readFull(run.from, part, at); err != nil {
			return n, fmt.Errorf("read %d bytes of content at %d: %w", len(part), at, err)
		}
		n += len(part)
		off += int64(len(part))
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
