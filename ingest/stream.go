package ingest

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"gateway/model"
)

// trialSize is how much of a large content shows whether deflating it is worth
// the while.
const trialSize = 1 << 20

// stream is content on its way into an object: it reads the identity bytes from
// src, sums them up, and yields their kept form.
type stream struct {
	src      io.Reader
	d        *deflater
	deflated bool
	buf      []byte
	pending  []byte // of d.out, not yet read by the caller
	end      error  // what src ended with; nil while there may be more
	failed   error  // end, unless it is io.EOF

	length      int64
	sha256, md5 hash.Hash
	sha1        hash.Hash // nil unless somebody asks
	crc32       uint32
}

// untilDone ends the reading of r when ctx is done.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// newStream begins to read src. Whether it deflates follows from the first MiB.
func newStream(src io.Reader, d *deflater, sha1sum bool) (*stream, error) {
	first := make([]byte, trialSize)
	n, err := io.ReadFull(src, first)
	if err != nil && n == 0 && err != io.EOF {
		return nil, err
	}
	first = first[:n]
	_, shrinks := d.deflate(first)
	s := &stream{src: io.MultiReader(bytes.NewReader(first), src), d: d, deflated: shrinks, buf: make([]byte, 64<<10), sha256: sha256.New(), md5: md5.New()}
	if sha1sum {
		s.sha1 = sha1.New()
	}
	d.out.Reset()
	d.w.Reset(&d.out)
	return s, nil
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	if !s.deflated {
		return s.next(p)
	}
	for len(s.pending) == 0 {
		if s.end != nil {
			return 0, s.end
		}
		s.d.out.Reset()
		n, err := s.next(s.buf)
		_, _ = s.d.w.Write(s.buf[:n])
		if err == io.EOF {
			_ = s.d.w.Close()
		}
		s.pending, s.end = s.d.out.Bytes(), err
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// next reads identity bytes and sums them up.
func (s *stream) next(p []byte) (int, error) {
	n, err := s.src.Read(p)
	s.sum(p[:n])
	if err != nil && err != io.EOF {
		s.failed = err
	}
	return n, err
}

func (s *stream) sum(b []byte) {
	s.length += int64(len(b))
	s.sha256.Write(b)
	s.md5.Write(b)
	if s.sha1 != nil {
		s.sha1.Write(b)
	}
	s.crc32 = crc32.Update(s.crc32, crc32.IEEETable, b)
}

// content describes what was read, once it was read to its end, and kept in
// stored bytes.
func (s *stream) content(stored int64) model.Content {
	c := model.Content{Length: s.length, CRC32: s.crc32, Deflated: s.deflated, Stored: stored}
	s.sha256.Sum(c.SHA256[:0])
	s.md5.Sum(c.MD5[:0])
	return c
}

// place puts what r yields into a new object, which a commit to set is going to
// refer to.
func (im *Importer) place(ctx context.Context, set model.SetID, r io.Reader) (key string, stored int64, err error) {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	key = "content/" + hex.EncodeToString(id[:])
	if err := im.store.ReserveObject(ctx, set, key, reserveFor); err != nil {
		return "", 0, fmt.Errorf("reserve object %s: %w", key, err)
	}
	stored, err = im.objects.Create(ctx, key, r)
	if err != nil {
		return "", 0, fmt.Errorf("write object %s: %w", key, err)
	}
	return key, stored, nil
}
