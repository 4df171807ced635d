package httpx

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"gateway/model"
)

// Rendered is a document made on request.
type Rendered struct {
	Type         string
	ETag         string     // opaque, without quotes; "": the SHA-256 of the bytes
	LastModified model.Time // 0: none
	Caching      Caching
	// Render appends the document to b. It is called only when the document is
	// needed, not for a 304 with a known ETag.
	Render func(b []byte) ([]byte, error)
}

// pooledBytes is the greatest buffer that is kept for the next request.
const pooledBytes = 4 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// gzippers and zstdders compress fast rather than well: what they make is sent
// once.
var (
	gzippers = sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
		return w
	}}
	// RFC 9659 allows windows of at most 8 MB in this coding; this level's is 4.
	zstdders = sync.Pool{New: func() any {
		w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)) // valid options
		return w
	}}
)

// ServeRendered answers with r. It is compressed only for those who ask, and
// always then, so that a 304 is decided without the document. It has no ranges:
// parts of two renderings may not fit together.
func ServeRendered(c *gin.Context, r Rendered) {
	offered := offer{gzip: true, zstd: true}
	chosen, ok := coding(c.Request.Header, offered)
	if !ok {
		AddVary(c.Writer.Header(), "Accept-Encoding")
		Fail(c, offered.refused())
		return
	}
	p := representation{
		validators: validators{modified: lastModified(r.LastModified.Time(), around(c).now(), r.Caching), moving: r.Caching == Moving},
		mediaType:  r.Type, coding: chosen, caching: r.Caching,
	}
	if r.ETag != "" {
		p.etag = etag(r.ETag, chosen)
		p.announce(c.Writer.Header())
		if p.settled(c) {
			return
		}
	}
	end, err := around(c).transfers.begin()
	if err != nil {
		Fail(c, err)
		return
	}
	defer end()
	held := buffers.Get().(*[]byte)
	defer func() { release(held) }()
	doc, err := r.Render((*held)[:0])
	if err != nil {
		Fail(c, err)
		return
	}
	*held = doc
	if r.ETag == "" {
		sum := sha256.Sum256(doc)
		p.etag = etag(hex.EncodeToString(sum[:]), chosen)
		p.announce(c.Writer.Header())
		if p.settled(c) {
			return
		}
	}
	if chosen != identity {
		coded := buffers.Get().(*[]byte)
		*coded = compress((*coded)[:0], doc, chosen)
		// Only what is sent is held while the client takes its time.
		release(held)
		held, doc = coded, *coded
	}
	if err := around(c).transfers.hold(len(doc)); err != nil {
		Fail(c, err)
		return
	}
	defer around(c).transfers.release(len(doc))
	begin(c, http.StatusOK, int64(len(doc)))
	if !bodyless(c.Request) {
		if _, err := c.Writer.Write(doc); err != nil {
			panic(http.ErrAbortHandler) // the client went away
		}
	}
}

// compress appends doc in a coding to b.
func compress(b, doc []byte, coding string) []byte {
	if coding == zstandard {
		w := zstdders.Get().(*zstd.Encoder)
		defer zstdders.Put(w)
		return w.EncodeAll(doc, b)
	}
	out := bytes.NewBuffer(b)
	w := gzippers.Get().(*gzip.Writer)
	defer gzippers.Put(w)
	w.Reset(out)
	_, _ = w.Write(doc) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

func release(b *[]byte) {
	if cap(*b) <= pooledBytes {
		buffers.Put(b)
	}
}
