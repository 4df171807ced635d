package publish

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdFrom is from which length on a document is kept as a zstd frame beside
	// its DEFLATE stream. Shorter ones gain little, and there are many of them.
	zstdFrom = 128 << 10
	// A frame that is not a twentieth shorter than the stream is not kept.
	zstdPart, zstdOf = 19, 20
)

// zstdders make frames a tenth shorter than DEFLATE streams of lists, at a
// multiple of its speed. The window is small because many documents may be in the
// making at a time, and longer ones gained nothing.
var zstdders = sync.Pool{New: func() any {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(512<<10), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants that zstd takes
	}
	return w
}}

// zstdFrame is a document on its way into a zstd frame.
type zstdFrame struct {
	bytes *bytes.Buffer // the document until it is long enough, then its frame
	w     *zstd.Encoder // nil until then
}

func newZstdFrame() *zstdFrame {
	f := &zstdFrame{bytes: buffers.Get().(*bytes.Buffer)}
	f.bytes.Reset()
	return f
}

func (f *zstdFrame) Write(p []byte) (int, error) {
	if f.w != nil {
		return f.w.Write(p)
	}
	n, err := f.bytes.Write(p)
	if f.bytes.Len() < zstdFrom {
		return n, err
	}
	begun := f.bytes
	defer buffers.Put(begun)
	f.bytes = buffers.Get().(*bytes.Buffer)
	f.bytes.Reset()
	f.w = zstdders.Get().(*zstd.Encoder)
	f.w.Reset(f.bytes)
	_, err = f.w.Write(begun.Bytes())
	return n, err
}

// finish returns the frame of a document that is kept in stored bytes otherwise,
// or nothing when it is not worth it. It is good until release.
func (f *zstdFrame) finish(stored int) ([]byte, error) {
	if f.w == nil {
		return nil, nil
	}
	if err := f.w.Close(); err != nil {
		return nil, err
	}
	if f.bytes.Len()*zstdOf > stored*zstdPart {
		return nil, nil
	}
	return f.bytes.Bytes(), nil
}

func (f *zstdFrame) release() {
	if f.w != nil {
		f.w.Reset(nil)
		zstdders.Put(f.w)
	}
	buffers.Put(f.bytes)
	*f = zstdFrame{}
}
