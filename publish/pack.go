package publish

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"

	"gateway/model"
)

const (
	// packBytes and packContents are how much a pack of the log holds: it ends
	// with the segment that reaches one of them. What is switched in one
	// transaction stays small with them.
	packBytes    = 64 << 20
	packContents = 100_000
	// besideContents is how much a pack may hold that is taken in the transaction
	// that publishes a snapshot: of thousands of small sets, each one less counts.
	besideContents = 5_000
	// packName is the random part of a pack's key, in bytes. Its digest cannot
	// be in the key, because it is written as it is read.
	packName = 16
)

// packs copies the content of the segments that were cut out of the database.
func (w *work) packs(ctx context.Context) error {
	from, last := w.backlog.Packed, w.backlog.View.Head.Segments
	loose := newCopied(w.store.Loose(ctx, w.set, from, last))
	defer loose.stop()
	for from < last {
		if err := w.lease(ctx); err != nil {
			return err
		}
		pack := w.newPack()
		if err := loose.pack(ctx, w.objects, &pack); err != nil {
			return err
		}
		pack.From, pack.To = from, last
		if loose.more {
			pack.To = loose.at.Segment - 1
		}
		if pack.To == last && len(pack.Contents) <= besideContents && w.wantsSnapshot() {
			w.pending = &pack
			break
		}
		pack.Release = pack.To == last && len(w.failed) == 0 && !w.sparse() && !w.frees() && !w.expires() && !w.wantsSnapshot() && w.backlog.View.Ready
		if pack.Release {
			w.letGo()
		}
		if err := w.store.Pack(ctx, pack); err != nil {
			return fmt.Errorf("segments after %d: %w", from, err)
		}
		w.held = !pack.Release
		from = pack.To
	}
	w.backlog.Packed = last
	return nil
}

// newPack is a pack of the set, empty. It must be taken long before its object
// is old enough to be collected.
func (w *work) newPack() model.Pack {
	return model.Pack{Set: w.set, Holder: w.holder, Until: model.TimeOf(w.config.Now().Add(w.config.CollectAge / 2))}
}

// copied is content on its way into packs.
type copied struct {
	next func() (model.Loose, error, bool)
	stop func()
	at   model.Loose // the next content, when there is more
	more bool
	err  error
}

func newCopied(contents iter.Seq2[model.Loose, error]) *copied {
	c := &copied{}
	c.next, c.stop = iter.Pull2(contents)
	c.step()
	return c
}

func (c *copied) step() {
	c.at, c.err, c.more = c.next()
	c.more = c.more && c.err == nil
}

// pack makes an object of what comes next, reads it back, and notes in p what is
// there. Without content there is no object.
func (c *copied) pack(ctx context.Context, objects Objects, p *model.Pack) error {
	if c.err != nil {
		return c.err
	}
	if !c.more {
		return nil
	}
	p.Object = packKey()
	if _, err := objects.Create(ctx, p.Object, &packReader{from: c, pack: p}); err != nil {
		return fmt.Errorf("create pack: %w", err)
	}
	if err := verifyPack(ctx, objects, p); err != nil {
		return fmt.Errorf("read pack %s back: %w", p.Object, err)
	}
	return nil
}

func packKey() string {
	var name [packName]byte
	rand.Read(name[:])
	text := hex.EncodeToString(name[:])
	return "packs/" + text[:2] + "/" + text
}

// packReader reads one pack from what is copied.
type packReader struct {
	from  *copied
	pack  *model.Pack
	rest  []byte // of the content that was begun
	begun bool
	size  int64
}

func (r *packReader) Read(b []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.begun {
			r.begun = false
			r.from.step()
		}
		if r.from.err != nil {
			return 0, r.from.err
		}
		if !r.from.more || r.full() {
			return 0, io.EOF
		}
		r.begin()
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *packReader) begin() {
	kept := r.from.at.Kept
	r.rest, r.begun = kept, true
	r.size += int64(len(kept))
	r.pack.To = r.from.at.Segment
	r.pack.Contents = append(r.pack.Contents,
		model.Packed{Key: r.from.at.Key, Stored: int64(len(kept)), Sum: crc32.ChecksumIEEE(kept)})
}

// full tells that the pack holds enough, and does not end amid a segment.
func (r *packReader) full() bool {
	enough := r.size >= packBytes || len(r.pack.Contents) >= packContents
	segment := r.from.at.Segment
	return enough && (segment == 0 || segment != r.pack.To)
}

var errPackDamaged = errors.New("it does not hold what was written")

// verifyPack reads the object of p and compares it with what was written.
func verifyPack(ctx context.Context, objects Objects, p *model.Pack) error {
	kept, err := objects.Open(ctx, p.Object)
	if err != nil {
		return err
	}
	defer kept.Close()
	var size int64
	for _, c := range p.Contents {
		size += c.Stored
	}
	if kept.Size() != size {
		return errPackDamaged
	}
	const window = 256 << 10
	r := bufio.NewReaderSize(io.NewSectionReader(kept, 0, size), window)
	for _, c := range p.Contents {
		var sum uint32
		for rest := c.Stored; rest > 0; {
			b, err := r.Peek(int(min(rest, window)))
			if err != nil {
				return err
			}
			sum = crc32.Update(sum, crc32.IEEETable, b)
			rest -= int64(len(b))
			if _, err := r.Discard(len(b)); err != nil {
				return err
			}
		}
		if sum != c.Sum {
			return errPackDamaged
		}
	}
	return nil
}
