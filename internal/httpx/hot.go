package httpx

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"gateway/model"
)

const (
	// hotBytes is how much of the bodies asked for lately is kept; as much again
	// of those before them.
	hotBytes = 16 << 20
	// hotLength is the longest body kept: longer ones leave by sendfile anyway.
	hotLength = 1 << 20
	// hotSeen is how many bodies asked for once are remembered.
	hotSeen = 4096
)

// hot keeps the bodies of sealed documents that were asked for twice lately, as
// they are sent and found to be whole, by their ETag. The rows that say whether
// there is such a document at all are asked before, each time.
type hot struct {
	mu          sync.Mutex
	now, before map[string][]byte // what is used moves from before to now
	size        int               // of now
	seen        map[string]struct{}
}

// get returns the body, or nil.
func (h *hot) get(etag string) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	b, ok := h.now[etag]
	if !ok {
		if b, ok = h.before[etag]; ok {
			h.keep(etag, b)
		}
	}
	return b
}

// wants tells, from the second time it is asked on, that a body should be put.
func (h *hot) wants(etag string, length int64) bool {
	if length > hotLength {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.seen[etag]; ok {
		delete(h.seen, etag)
		return true
	}
	if h.seen == nil || len(h.seen) >= hotSeen {
		h.seen = map[string]struct{}{}
	}
	h.seen[etag] = struct{}{}
	return false
}

func (h *hot) put(etag string, b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep(etag, b)
}

func (h *hot) keep(etag string, b []byte) {
	if h.now == nil || h.size+len(b) > hotBytes {
		h.before, h.now, h.size = h.now, map[string][]byte{}, 0
	}
	if _, ok := h.now[etag]; !ok {
		h.size += len(b)
	}
	h.now[etag] = b
}

// whole reads all of a body and checks it against the content, so that what is
// kept damaged is not repeated from memory after it was repaired.
func whole(b body, n int64, coding string, c *model.Content) ([]byte, error) {
	all := make([]byte, n)
	if _, err := io.ReadFull(b, all); err != nil {
		return nil, err
	}
	switch coding {
	case gzipped:
		in := newInflated(bytes.NewReader(all[len(gzipHeader):len(all)-gzipTrailer]), c)
		defer in.release()
		_, err := io.Copy(io.Discard, in)
		return all, err
	case zstandard:
		r, err := zstd.NewReader(bytes.NewReader(all), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("read zstd: %w", err)
		}
		defer r.Close()
		sum := crc32.NewIEEE()
		if n, err := io.Copy(sum, r); err != nil || n != c.Length || sum.Sum32() != c.CRC32 {
			return nil, errBroken
		}
	}
	return all, nil
}
