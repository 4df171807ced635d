package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"gateway/model"
)

// pageKeys is how many contents with consecutive keys share a row of places. A
// row for each would make most of the work of packing, and of finding the
// content of a dump, rows instead of bytes.
const pageKeys = 128

// placesVersion is the first byte of a page of places.
const placesVersion = 1

// place is where a content lies; its zero value is no place.
type place struct {
	object int64 // number of a row of objects
	start  int64
	stored int64
	sum    uint32 // CRC-32 of the kept bytes
	summed bool   // sum is known
}

// placed is a content that gets a place.
type placed struct {
	key model.ContentKey
	place
}

// placePage is the places of pageKeys contents.
type placePage [pageKeys]place

// pageOf is the page that holds the place of key, and its number there.
func pageOf(key model.ContentKey) (page int64, slot int) {
	return int64(key-1) / pageKeys, int(int64(key-1) % pageKeys)
}

// append appends p as it is stored.
func (p *placePage) append(b []byte) []byte {
	b = append(b, placesVersion)
	last := len(p)
	for last > 0 && p[last-1].object == 0 {
		last--
	}
	var end int64
	for i := range p[:last] {
		e := &p[i]
		if e.object == 0 {
			b = append(b, 0)
			continue
		}
		head := uint64(e.object) << 1
		if e.summed {
			head |= 1
		}
		b = binary.AppendUvarint(b, head)
		b = binary.AppendVarint(b, e.start-end)
		b = binary.AppendUvarint(b, uint64(e.stored))
		if e.summed {
			b = binary.LittleEndian.AppendUint32(b, e.sum)
		}
		end = e.start + e.stored
	}
	return b
}

var errPlaces = errors.New("a row of places is malformed")

// parse is the inverse of append.
func (p *placePage) parse(b []byte) error {
	clear(p[:])
	if len(b) == 0 || b[0] != placesVersion {
		return errPlaces
	}
	b = b[1:]
	var end int64
	for i := 0; len(b) > 0; i++ {
		head, n := binary.Uvarint(b)
		if n <= 0 || i == len(p) {
			return errPlaces
		}
		b = b[n:]
		if head == 0 {
			continue
		}
		e := &p[i]
		e.object, e.summed = int64(head>>1), head&1 != 0
		delta, n := binary.Varint(b)
		if n <= 0 {
			return errPlaces
		}
		b = b[n:]
		stored, n := binary.Uvarint(b)
		if n <= 0 {
			return errPlaces
		}
		b = b[n:]
		e.start, e.stored = end+delta, int64(stored)
		if e.summed {
			if len(b) < 4 {
				return errPlaces
			}
			e.sum, b = binary.LittleEndian.Uint32(b), b[4:]
		}
		if e.object == 0 || e.start < 0 || e.stored < 0 {
			return errPlaces
		}
		end = e.start + e.stored
	}
	return nil
}

// readPages calls f for each of the pages that has a row. What f gets is valid
// until it returns.
func readPages(ctx context.Context, pool gorm.ConnPool, set model.SetID, pages []int64, f func(page int64, p *placePage) error) error {
	const most = 500 // parameters of one query
	var p placePage
	for some := range slices.Chunk(pages, most) {
		args := make([]any, 1, 1+len(some))
		args[0] = set
		for _, page := range some {
			args = append(args, page)
		}
		query := "SELECT page, entries FROM places WHERE set_id = ? AND page IN (" + marks(len(some)) + ")"
		err := scanRows(ctx, pool, query, args, func(page number, entries []byte) error {
			if err := p.parse(entries); err != nil {
				return fmt.Errorf("places of contents from %d: %w", page*pageKeys+1, err)
			}
			return f(int64(page), &p)
		})
		if err != nil {
			return fmt.Errorf("read places: %w", err)
		}
	}
	return nil
}

// scanPlaces calls f for some of the pages after the one given, and returns the
// last of them; it is the one given when there are no more.
func scanPlaces(ctx context.Context, pool gorm.ConnPool, set model.SetID, after int64, f func(page int64, p *placePage)) (last int64, err error) {
	const query = "SELECT page, entries FROM places WHERE set_id = ? AND page > ? ORDER BY page LIMIT ?"
	var p placePage
	last = after
	err = scanRows(ctx, pool, query, []any{set, after, pageRows}, func(page number, entries []byte) error {
		last = int64(page)
		if err := p.parse(entries); err != nil {
			return fmt.Errorf("places of contents from %d: %w", last*pageKeys+1, err)
		}
		f(last, &p)
		return nil
	})
	if err != nil {
		return last, fmt.Errorf("read places: %w", err)
	}
	return last, nil
}

// readPlaces returns the place of each of the keys, a zero one where it has none.
func readPlaces(ctx context.Context, pool gorm.ConnPool, set model.SetID, keys []model.ContentKey) ([]place, error) {
	found := make([]place, len(keys))
	order := make([]int32, len(keys)) // of the keys, so that those of a page stand together
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(keys[a], keys[b]) })
	var pages []int64
	first := map[int64]int{} // of the keys of a page in order
	for i, k := range order {
		if page, _ := pageOf(keys[k]); len(pages) == 0 || pages[len(pages)-1] != page {
			pages = append(pages, page)
			first[page] = i
		}
	}
	err := readPages(ctx, pool, set, pages, func(page int64, p *placePage) error {
		for _, k := range order[first[page]:] {
			at, slot := pageOf(keys[k])
			if at != page {
				break
			}
			found[k] = p[slot]
		}
		return nil
	})
	return found, err
}

// place puts contents, by rising key, where they are from now on. Objects that
// hold none of them any more are let go.
func (t *tx) place(contents []placed) error {
	rows := t.inserter("places", "set_id", "page", "entries")
	rows.suffix = t.s.dialect.upsert("set_id, page", "entries")
	counts := map[int64]*objectCount{}
	count := func(object int64) *objectCount {
		if counts[object] == nil {
			counts[object] = &objectCount{}
		}
		return counts[object]
	}
	for len(contents) > 0 {
		some, pages := nextPages(contents)
		contents = contents[len(some):]
		before := make(map[int64]*placePage, len(pages))
		err := readPages(t.ctx, t.sql, t.set, pages, func(page int64, p *placePage) error {
			was := *p
			before[page] = &was
			return nil
		})
		if err != nil {
			return err
		}
		for _, page := range pages {
			p := before[page]
			if p == nil {
				p = new(placePage)
			}
			for ; len(some) > 0; some = some[1:] {
				at, slot := pageOf(some[0].key)
				if at != page {
					break
				}
				if was := p[slot]; was.object != 0 {
					count(was.object).add(-1, -was.stored)
				}
				p[slot] = some[0].place
				count(p[slot].object).add(1, p[slot].stored)
			}
			entries := p.append(nil)
			if err := rows.add(len(entries), t.set, page, entries); err != nil {
				return err
			}
		}
	}
	if err := rows.flush(); err != nil {
		return err
	}
	return t.countObjects(counts)
}

// nextPages returns the first of the contents, as many as lie in a few hundred
// pages, and the numbers of these.
func nextPages(contents []placed) (some []placed, pages []int64) {
	const most = 500
	for i := range contents {
		page, _ := pageOf(contents[i].key)
		if len(pages) > 0 && pages[len(pages)-1] == page {
			continue
		}
		if len(pages) == most {
			return contents[:i], pages
		}
		pages = append(pages, page)
	}
	return contents, pages
}

// objectCount is how much content an object gains.
type objectCount struct{ contents, stored int64 }

func (c *objectCount) add(contents, stored int64) {
	c.contents += contents
	c.stored += stored
}

func (t *tx) countObjects(counts map[int64]*objectCount) error {
	var fewer []int64
	for object, c := range counts {
		err := t.db.Exec("UPDATE objects SET contents = contents + ?, stored = stored + ? WHERE set_id = ? AND number = ?",
			c.contents, c.stored, t.set, object).Error
		if err != nil {
			return fmt.Errorf("count the content of objects: %w", err)
		}
		if c.contents < 0 {
			fewer = append(fewer, object)
		}
	}
	for some := range slices.Chunk(fewer, pageRows) {
		err := t.db.Exec("DELETE FROM objects WHERE set_id = ? AND number IN ? AND contents = 0", t.set, some).Error
		if err != nil {
			return fmt.Errorf("let objects go: %w", err)
		}
	}
	if len(fewer) == 0 {
		return nil
	}
	return t.noteSparse()
}
