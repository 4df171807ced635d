package publish

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"

	"gateway/model"
)

// level of the DEFLATE streams that documents are kept as. The bytes of a
// document are what its digest says; the stream is made once and never again,
// so another level later is no other document.
const level = 5

var (
	deflaters = sync.Pool{New: func() any {
		w, err := flate.NewWriter(nil, level)
		if err != nil {
			panic(err) // level is a constant that flate takes
		}
		return w
	}}
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
)

// sink makes an object of every document that a renderer creates, and collects
// the rows that will make them visible.
type sink struct {
	ctx       context.Context
	objects   Objects
	snapshot  model.SnapshotNumber
	documents []model.Document
	packages  []model.Package
}

// Add implements [model.Sink].
func (s *sink) Add(p model.Package) { s.packages = append(s.packages, p) }

// size is how many bytes the documents so far are kept in.
func (s *sink) size() (n int64) {
	for i := range s.documents {
		n += s.documents[i].Content.Stored
	}
	return n
}

// Create implements [model.Sink].
func (s *sink) Create(path, mediaType string, lastModified model.Time) (model.DocumentWriter, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	d := &document{
		sink:     s,
		row:      model.Document{Path: path, Type: mediaType, LastModified: lastModified, Snapshot: s.snapshot},
		sum:      sha256.New(),
		kept:     buffers.Get().(*bytes.Buffer),
		deflater: deflaters.Get().(*flate.Writer),
		zstd:     newZstdFrame(),
	}
	d.kept.Reset()
	d.deflater.Reset(d.kept)
	return d, nil
}

// document is one being written: compressed into memory (a document has a bounded
// size), because its object's key holds the digest of its bytes, the DEFLATE
// stream and right after it the zstd frame, if there is one.
type document struct {
	sink     *sink
	row      model.Document
	sum      hash.Hash
	kept     *bytes.Buffer
	deflater *flate.Writer
	zstd     *zstdFrame
}

func (d *document) Write(p []byte) (int, error) {
	d.sum.Write(p)
	d.row.Content.CRC32 = crc32.Update(d.row.Content.CRC32, crc32.IEEETable, p)
	d.row.Content.Length += int64(len(p))
	if _, err := d.zstd.Write(p); err != nil {
		return 0, err
	}
	return d.deflater.Write(p)
}

// Close makes the object.
func (d *document) Close() error {
	defer func() {
		deflaters.Put(d.deflater)
		buffers.Put(d.kept)
		d.zstd.release()
		d.deflater, d.kept = nil, nil
	}()
	if err := d.deflater.Close(); err != nil {
		return fmt.Errorf("deflate %s: %w", d.row.Path, err)
	}
	d.sum.Sum(d.row.Content.SHA256[:0])
	d.row.Content.Deflated = true
	d.row.Content.Stored = int64(d.kept.Len())
	frame, err := d.zstd.finish(d.kept.Len())
	if err != nil {
		return fmt.Errorf("compress %s: %w", d.row.Path, err)
	}
	d.kept.Write(frame)
	d.row.Zstd = int64(len(frame))
	d.row.Object = documentKey(d.kept.Bytes())
	if _, err := d.sink.objects.Create(d.sink.ctx, d.row.Object, d.kept); err != nil {
		return fmt.Errorf("store %s: %w", d.row.Path, err)
	}
	d.sink.documents = append(d.sink.documents, d.row)
	return nil
}

// Content implements [model.DocumentWriter].
func (d *document) Content() model.Content { return d.row.Content }

// documentKey names an object by the digest of its bytes and a random part. The
// random part keeps two publishers of the same bytes apart, so that the loser's
// object can be collected without a look at the winner's.
func documentKey(kept []byte) string {
	sum := sha256.Sum256(kept)
	name := hex.EncodeToString(sum[:])
	var salt [4]byte
	rand.Read(salt[:])
	return "documents/" + name[:2] + "/" + name + "-" + hex.EncodeToString(salt[:])
}
