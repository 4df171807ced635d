package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Input is one file of JSON Lines: plain, gzip or zstd, which its first bytes
// tell.
type Input struct {
	Name string // for messages
	Size int64  // in bytes, as it lies there; 0 is unknown
	Open func() (io.ReadCloser, error)
}

// Files returns the inputs at paths, of which "-" is stdin. A path that is no
// file is an error here, before anything was loaded.
func Files(paths []string, stdin io.Reader) ([]Input, error) {
	inputs := make([]Input, 0, len(paths))
	for _, path := range paths {
		if path == "-" {
			if stdin == nil {
				return nil, errors.New("standard input is named twice, or is not there")
			}
			inputs = append(inputs, Reader("standard input", stdin))
			stdin = nil
			continue
		}
		st, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if st.IsDir() {
			return nil, fmt.Errorf("%s is a directory", path)
		}
		inputs = append(inputs, Input{Name: path, Size: st.Size(), Open: func() (io.ReadCloser, error) { return os.Open(path) }})
	}
	return inputs, nil
}

// Reader is what r yields, as an input. It does not close r.
func Reader(name string, r io.Reader) Input {
	return Input{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}
}

// totalSize is the size of all inputs, or 0.
func totalSize(inputs []Input) int64 {
	var total int64
	for _, in := range inputs {
		if in.Size == 0 {
			return 0
		}
		total += in.Size
	}
	return total
}

// InputError says that an input could not be read to its end.
type InputError struct {
	Input string
	Line  int64 // the first that was not loaded
	Err   error
}

func (e *InputError) Error() string {
	if errors.Is(e.Err, io.ErrUnexpectedEOF) {
		return fmt.Sprintf("%s:%d: the input is cut off here; the complete lines before were read", e.Input, e.Line)
	}
	return fmt.Sprintf("%s:%d: cannot read on: %v; the complete lines before were read", e.Input, e.Line, e.Err)
}

func (e *InputError) Unwrap() error { return e.Err }

// counter counts what is read through it, for another goroutine to see.
type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// maxWindow is the memory that a zstd frame may ask for, as much as the zstd
// program grants.
const maxWindow = 128 << 20

// decompress yields what r holds, and a function that frees what that takes.
func decompress(r io.Reader) (io.Reader, func(), error) {
	b := bufio.NewReaderSize(r, 64<<10)
	magic, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}): // RFC 1952 §2.3.1
		z, err := gzip.NewReader(b)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return z, func() {}, err
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}), // RFC 8878 §3.1.1
		len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18}): // §3.1.2
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return b, func() {}, nil
}
