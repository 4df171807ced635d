package httpx

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/flate"

	"gateway/model"
)

var errBroken = errors.New("content does not have the sum it was kept with")

// body is read forwards only; what a range leaves out is skipped.
type body interface {
	io.Reader
	skip(ctx context.Context, n int64) error
}

// gzipHeader is the member header of RFC 1952 §2.3: deflate, no name, no time,
// unknown system. With the trailer it frames a raw DEFLATE stream.
const (
	gzipHeader  = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
	gzipTrailer = 8
)

// gzipLength is the length of content in its gzip frame.
func gzipLength(c *model.Content) int64 { return int64(len(gzipHeader)) + c.Stored + gzipTrailer }

// framed is kept bytes as they are between a head and a tail.
type framed struct {
	head, tail string
	kept       io.ReaderAt
	start      int64 // in kept
	stored     int64
	at         int64

	file   *os.File // that kept is in, or nil
	offset int64    // of start in file
}

// inFile is kept bytes that lie in a file from offset on. The file is the
// caller's alone until it is closed: its position moves.
type inFile interface {
	File() (f *os.File, offset int64)
}

// newFramed is stored bytes of kept, from start on, and nothing around them.
func newFramed(kept io.ReaderAt, start, stored int64) *framed {
	f := &framed{kept: kept, start: start, stored: stored}
	if k, ok := kept.(inFile); ok {
		f.file, f.offset = k.File()
		f.offset += start
	}
	return f
}

// newGzip is a kept DEFLATE stream as a gzip member.
func newGzip(kept io.ReaderAt, c *model.Content) *framed {
	f := newFramed(kept, 0, c.Stored)
	var trailer [gzipTrailer]byte
	binary.LittleEndian.PutUint32(trailer[:], c.CRC32)
	binary.LittleEndian.PutUint32(trailer[4:], uint32(c.Length)) // modulo 2^32
	f.head, f.tail = gzipHeader, string(trailer[:])
	return f
}

func (f *framed) skip(_ context.Context, n int64) error {
	f.at += n
	return nil
}

// Read fills p across the seams of the frame, so that a small document leaves in
// one write.
func (f *framed) Read(p []byte) (n int, err error) {
	if f.at < int64(len(f.head)) {
		n = copy(p, f.head[f.at:])
		f.at += int64(n)
	}
	if at := f.at - int64(len(f.head)); at >= 0 && at < f.stored && n < len(p) {
		want := min(int64(len(p)-n), f.stored-at)
		got, err := f.kept.ReadAt(p[n:n+int(want)], f.start+at)
		n += got
		f.at += int64(got)
		if int64(got) < want {
			return n, short(err)
		}
	}
	if at := f.at - int64(len(f.head)) - f.stored; at >= 0 && n < len(p) {
		got := copy(p[n:], f.tail[at:])
		n += got
		f.at += int64(got)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// inFile tells how many of the next n bytes lie in the file, one after the
// other, and where.
func (f *framed) inFile(n int64) (offset, length int64) {
	at := f.at - int64(len(f.head))
	if f.file == nil || at < 0 {
		return 0, 0
	}
	return f.offset + at, min(n, f.stored-at)
}

// short is the error of a read that gave less than there must be.
func short(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// plain is the whole of identity bytes kept as they are: its last ones come only
// if the sum is right.
type plain struct {
	kept    io.ReaderAt
	content *model.Content
	at      int64
	sum     uint32
}

func (b *plain) skip(ctx context.Context, n int64) error {
	_, err := io.CopyN(io.Discard, b, n)
	return err
}

func (b *plain) Read(p []byte) (int, error) {
	if b.at >= b.content.Length {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), b.content.Length-b.at)]
	n, err := b.kept.ReadAt(p, b.at)
	if n < len(p) {
		return 0, short(err)
	}
	b.sum = crc32.Update(b.sum, crc32.IEEETable, p)
	b.at += int64(n)
	if b.at == b.content.Length && b.sum != b.content.CRC32 {
		return 0, errBroken
	}
	return n, nil
}

// inflated is identity bytes kept deflated. The last bytes come only if the sum
// and the length are right; what is skipped is inflated, and summed, too.
type inflated struct {
	*inflater
	content *model.Content
	at      int64
	sum     uint32
}

// inflater is what inflating needs in memory, about 80 KB.
type inflater struct {
	source *bufio.Reader
	flate  io.ReadCloser
}

var inflaters = sync.Pool{New: func() any {
	source := bufio.NewReaderSize(nil, 16<<10)
	return &inflater{source: source, flate: flate.NewReader(source)}
}}

func newInflated(kept io.ReaderAt, c *model.Content) *inflated {
	in := inflaters.Get().(*inflater)
	in.source.Reset(io.NewSectionReader(kept, 0, c.Stored))
	_ = in.flate.(flate.Resetter).Reset(in.source, nil) // fails for no reader
	return &inflated{inflater: in, content: c}
}

func (b *inflated) release() {
	b.source.Reset(nil)
	inflaters.Put(b.inflater)
	b.inflater = nil
}

// skip looks at ctx, because it works for long on behalf of a client that sees
// nothing of it.
func (b *inflated) skip(ctx context.Context, n int64) error {
	for n > 0 {
		step := min(n, 1<<20)
		if _, err := io.CopyN(io.Discard, b, step); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		n -= step
	}
	return nil
}

func (b *inflated) Read(p []byte) (int, error) {
	if b.at >= b.content.Length {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), b.content.Length-b.at)]
	n, err := io.ReadFull(b.flate, p)
	if err != nil {
		return 0, fmt.Errorf("inflate: %w", short(err))
	}
	b.sum = crc32.Update(b.sum, crc32.IEEETable, p)
	b.at += int64(n)
	if b.at < b.content.Length {
		return n, nil
	}
	var more [1]byte
	if extra, err := b.flate.Read(more[:]); extra > 0 || !errors.Is(err, io.EOF) || b.sum != b.content.CRC32 {
		return 0, errBroken
	}
	return n, nil
}
