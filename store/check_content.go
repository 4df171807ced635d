package store

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"gateway/model"
)

// wantedContent is content that a change brought.
type wantedContent struct {
	key     model.ContentKey
	where   string
	content model.Content
}

// newContent appends the content that came with the change. Keys are given out
// in the order of the log, so a key above all before it is new.
func (c *check) newContent(wanted []wantedContent, change *model.Change) []wantedContent {
	last := c.keys
	for i := range change.Resources {
		r := &change.Resources[i]
		if r.External() || r.Key <= last {
			continue
		}
		c.keys = max(c.keys, r.Key)
		wanted = append(wanted, wantedContent{r.Key, fmt.Sprintf("change %d, %s", change.Position, r.Name), r.Content})
	}
	return wanted
}

// contents checks that content is there and is what the changes say: in its
// place and, as long as they are there, in the database.
func (c *check) contents(wanted []wantedContent) error {
	for i := range wanted {
		w := &wanted[i]
		what := fmt.Sprintf("content %d", w.key)
		kept, err := c.s.openBytes(c.ctx, c.set.ID, w.key)
		inDatabase := !errors.Is(err, model.ErrNotFound)
		if inDatabase {
			if err := c.verify(w.where, what, kept, err, w.content, 0); err != nil {
				return err
			}
		}
		kept, err = c.s.openPlaced(c.ctx, c.set.ID, w.key)
		if errors.Is(err, model.ErrNotFound) {
			if inDatabase && !c.isPlaced(w.key) {
				continue
			}
			kept, err = c.s.openPlaced(c.ctx, c.set.ID, w.key) // it has moved meanwhile, or is lost
		}
		if err := c.verify(w.where, what, kept, err, w.content, 0); err != nil {
			return err
		}
	}
	return nil
}

// isPlaced tells whether content has a place in an object.
func (c *check) isPlaced(key model.ContentKey) bool {
	places, err := readPlaces(c.ctx, c.s.reader.Statement.ConnPool, c.set.ID, []model.ContentKey{key})
	return err != nil || places[0].object != 0
}

// documents checks that the object of every stored document is what it says.
func (c *check) documents() error {
	var after string
	for {
		var rows []documentRow
		err := c.s.reader.WithContext(c.ctx).Order("path").Limit(pageRows).
			Find(&rows, "set_id = ? AND path > ? AND epoch = ?", c.set.ID, after, c.head.Epoch).Error
		if err != nil {
			return fmt.Errorf("read documents: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		for i := range rows {
			d := rows[i].document()
			kept, err := c.s.OpenObject(c.ctx, d.Object)
			if err := c.verify("document "+d.Path, "object "+d.Object, kept, err, d.Content, d.Zstd); err != nil {
				return err
			}
			after = d.Path
		}
	}
}

// verify reports what is wrong with kept, which was opened with err. After the
// content it has zstd bytes of a frame of the same.
func (c *check) verify(where, what string, kept model.Kept, err error, content model.Content, zstd int64) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if err != nil {
		c.report(where, "%s: %v", what, err)
		return nil
	}
	defer kept.Close()
	if size, want := kept.Size(), content.Stored+zstd; size != want {
		c.report(where, "%s: %d bytes are kept, want %d", what, size, want)
		return nil
	}
	if err := verifyContent(io.NewSectionReader(kept, 0, content.Stored), content); err != nil {
		c.report(where, "%s: %v", what, err)
	}
	if zstd > 0 {
		if err := verifyFrame(io.NewSectionReader(kept, content.Stored, zstd), content); err != nil {
			c.report(where, "%s: its zstd frame: %v", what, err)
		}
	}
	return nil
}

// verifyContent reads kept bytes and compares them with what they should be.
func verifyContent(kept io.Reader, content model.Content) error {
	if !content.Deflated {
		return verifyBytes(kept, content)
	}
	inflate := flate.NewReader(kept)
	defer inflate.Close()
	return verifyBytes(inflate, content)
}

// verifyFrame does so for a zstd frame.
func verifyFrame(kept io.Reader, content model.Content) error {
	r, err := zstd.NewReader(kept, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	defer r.Close()
	return verifyBytes(r, content)
}

func verifyBytes(r io.Reader, content model.Content) error {
	sha, crc, md := sha256.New(), crc32.NewIEEE(), md5.New()
	n, err := io.Copy(io.MultiWriter(sha, crc, md), io.LimitReader(r, content.Length+1))
	switch {
	case err != nil:
		return fmt.Errorf("read it: %w", err)
	case n != content.Length:
		return fmt.Errorf("it has not the length %d", content.Length)
	case [sha256.Size]byte(sha.Sum(nil)) != content.SHA256:
		return errors.New("its SHA-256 is another")
	case crc.Sum32() != content.CRC32:
		return errors.New("its CRC-32 is another")
	case content.MD5 != [md5.Size]byte{} && [md5.Size]byte(md.Sum(nil)) != content.MD5:
		return errors.New("its MD5 is another")
	}
	return nil
}
