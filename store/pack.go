package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"gorm.io/gorm/clause"

	"gateway/model"
)

// spentAfter is how long the database keeps the bytes of content that was
// packed: who found them there has read them long before.
const spentAfter = model.Time(time.Hour / time.Microsecond)

// spentRow is a stretch of content whose database bytes may go when it is due.
type spentRow struct {
	SetID    model.SetID      `gorm:"primaryKey;autoIncrement:false"`
	FirstKey model.ContentKey `gorm:"primaryKey;autoIncrement:false"`
	LastKey  model.ContentKey
	Due      model.Time
}

func (spentRow) TableName() string { return "spent" }

// Loose yields, in the order of the log, the content of the segments after < s ≤
// last that lies in the database and nowhere else.
func (s *Store) Loose(ctx context.Context, set model.SetID, after, last model.SegmentNumber) iter.Seq2[model.Loose, error] {
	return func(yield func(model.Loose, error) bool) {
		var key model.ContentKey
		if after > 0 {
			var row storedSegment
			if err := s.reader.WithContext(ctx).Take(&row, "set_id = ? AND number = ?", set, after).Error; err != nil {
				yield(model.Loose{}, orNotFound(err, "segment %d", after))
				return
			}
			key = row.LastKey
		}
		for after < last {
			var rows []storedSegment
			err := s.reader.WithContext(ctx).Order("number").Limit(pageRows).
				Find(&rows, "set_id = ? AND number > ? AND number <= ?", set, after, last).Error
			if err == nil && len(rows) == 0 {
				err = fmt.Errorf("segment %d is missing", after+1)
			}
			if err != nil {
				yield(model.Loose{}, fmt.Errorf("read segments: %w", err))
				return
			}
			if !s.loose(ctx, set, key, rows, yield) {
				return
			}
			after, key = rows[len(rows)-1].Number, rows[len(rows)-1].LastKey
		}
	}
}

// loose yields the content of some segments, which begins after the key given.
func (s *Store) loose(ctx context.Context, set model.SetID, after model.ContentKey, segments []storedSegment, yield func(model.Loose, error) bool) bool {
	last := segments[len(segments)-1].LastKey
	page := loosePage{limit: 100}
	for after < last {
		if err := page.read(ctx, s, set, after, last); err != nil {
			yield(model.Loose{}, fmt.Errorf("read content after %d: %w", after, err))
			return false
		}
		if len(page.contents) == 0 {
			return true
		}
		for i, c := range page.contents {
			after = c.Key
			for segments[0].LastKey < c.Key {
				segments = segments[1:]
			}
			c.Segment = segments[0].Number
			if page.places[i].object == 0 && !yield(c, nil) {
				return false
			}
		}
	}
	return true
}

// loosePage is some content of the database, and the places of those that lie
// in an object as well.
type loosePage struct {
	contents []model.Loose
	places   []place
	bytes    []byte // of contents, reused
	limit    int    // rows of the next page
}

func (p *loosePage) read(ctx context.Context, s *Store, set model.SetID, after, last model.ContentKey) error {
	p.contents, p.bytes = p.contents[:0], p.bytes[:0]
	keys := make([]model.ContentKey, 0, p.limit)
	var ends []int
	const query = "SELECT content_key, bytes FROM content_bytes WHERE set_id = ? AND content_key > ? AND content_key <= ?" +
		" ORDER BY content_key LIMIT ?"
	pool := s.reader.Statement.ConnPool
	err := scanRows(ctx, pool, query, []any{set, after, last, p.limit}, func(key number, kept []byte) error {
		keys = append(keys, model.ContentKey(key))
		p.bytes = append(p.bytes, kept...)
		ends = append(ends, len(p.bytes))
		return nil
	})
	if err != nil || len(keys) == 0 {
		return err
	}
	start := 0
	for i, end := range ends {
		p.contents = append(p.contents, model.Loose{Key: keys[i], Kept: p.bytes[start:end:end]})
		start = end
	}
	p.limit = min(max(pageBytes*len(keys)/(len(p.bytes)+1), 1), pageRows)
	p.places, err = readPlaces(ctx, pool, set, keys)
	return err
}

// Pack makes p the place of its content, or returns [model.ErrHeadMoved] and
// changes nothing. The bytes that lie in the database go an hour later, with
// [Store.Free]. A pack of the log is taken in one transaction; of a copy, which
// is right after each of them, a transaction takes a part.
func (s *Store) Pack(ctx context.Context, p model.Pack) error {
	contents, size := placedOf(&p)
	const most = 10_000 // they may be in as many pages
	if p.To > 0 || len(contents) <= most {
		return s.pack(ctx, &p, size, contents)
	}
	for some := range slices.Chunk(contents, most) {
		if err := s.pack(ctx, &p, size, some); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) pack(ctx context.Context, p *model.Pack, size int64, contents []placed) error {
	return s.write(ctx, "pack", p.Set, func(t *tx) error {
		t.unseen = true
		if err := t.keep(p.Holder); err != nil {
			return err
		}
		if err := t.pack(p, size, contents); err != nil {
			return err
		}
		if p.Release && p.Holder != "" {
			return t.release(p.Holder)
		}
		return nil
	})
}

// placedOf is where the content of p will lie, by rising key, and the size of
// its object.
func placedOf(p *model.Pack) (contents []placed, size int64) {
	for _, c := range p.Contents {
		contents = append(contents, placed{c.Key, place{start: size, stored: c.Stored, sum: c.Sum, summed: true}})
		size += c.Stored
	}
	slices.SortFunc(contents, func(a, b placed) int { return cmp.Compare(a.key, b.key) })
	return contents, size
}

// packBeside takes the pack that comes with a publication.
func (t *tx) packBeside(p *model.Publication) error {
	if p.Pack == nil {
		return nil
	}
	contents, size := placedOf(p.Pack)
	return t.pack(p.Pack, size, contents)
}

func (t *tx) pack(p *model.Pack, size int64, contents []placed) error {
	if t.now() > p.Until {
		return fmt.Errorf("object %s may have been collected: %w", p.Object, model.ErrHeadMoved)
	}
	if p.To > 0 {
		if err := t.advancePacks(p); err != nil {
			return err
		}
	}
	return t.takePack(p.Object, size, contents)
}

// advancePacks moves the position of packing over the segments of p, and notes
// when the database bytes of their content may go.
func (t *tx) advancePacks(p *model.Pack) error {
	at, err := t.packed()
	if err != nil {
		return err
	}
	if at != p.From {
		return fmt.Errorf("packing stands at segment %d, not %d: %w", at, p.From, model.ErrHeadMoved)
	}
	if p.To <= p.From || p.To > t.head.Segments {
		return fmt.Errorf("packing cannot advance from segment %d to %d of %d", p.From, p.To, t.head.Segments)
	}
	row := positionRow{SetID: t.set, Renderer: model.Packer, Segment: p.To}
	if err := t.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
		return fmt.Errorf("advance packing: %w", err)
	}
	t.published[model.Packer] = p.To

	var ends []storedSegment
	if err := t.db.Order("number").Find(&ends, "set_id = ? AND number IN (?, ?)", t.set, p.From, p.To).Error; err != nil {
		return fmt.Errorf("read segments: %w", err)
	}
	spent := spentRow{SetID: t.set, FirstKey: 1, LastKey: ends[len(ends)-1].LastKey, Due: t.now() + spentAfter}
	if p.From > 0 {
		spent.FirstKey = ends[0].LastKey + 1
	}
	if spent.FirstKey > spent.LastKey {
		return nil
	}
	if err := t.db.Create(&spent).Error; err != nil {
		return fmt.Errorf("note spent bytes: %w", err)
	}
	if t.head.Spent == 0 {
		t.head.Spent = spent.Due
	}
	return nil
}

// takePack makes an object the place of contents.
func (t *tx) takePack(object string, size int64, contents []placed) error {
	if len(contents) == 0 {
		return nil
	}
	var row objectRow
	err := t.db.Order("number DESC").Take(&row, "set_id = ? AND object = ?", t.set, object).Error
	if isNoRow(err) {
		t.head.Objects++
		row = objectRow{SetID: t.set, Number: t.head.Objects, Object: object, Size: size}
		err = t.db.Create(&row).Error
	}
	if err != nil {
		return fmt.Errorf("write object %s: %w", object, err)
	}
	for i := range contents {
		contents[i].object = row.Number
	}
	return t.place(contents)
}

// packed is the segment up to which content was packed.
func (t *tx) packed() (model.SegmentNumber, error) {
	if err := t.readPositions(); err != nil {
		return 0, err
	}
	return t.published[model.Packer], nil
}

// Free removes some of the database bytes whose time is over, and tells whether
// there are more. What it frees of the database's file is given back.
func (s *Store) Free(ctx context.Context, set model.SetID) (more bool, err error) {
	err = s.write(ctx, "free database bytes", set, func(t *tx) error {
		t.unseen = true
		var row spentRow
		err := t.db.Order("first_key").Take(&row, "set_id = ? AND due <= ?", t.set, t.now()).Error
		if isNoRow(err) {
			more = false
			return errNothing
		}
		if err == nil {
			err = t.free(&row)
		}
		more = t.head.Spent != 0 && t.head.Spent <= t.now()
		return err
	})
	if err != nil {
		return false, err
	}
	return more, s.dialect.shrink(ctx, s.writer)
}

// free removes the first bytes of a stretch, a few MiB of them.
func (t *tx) free(row *spentRow) error {
	const mostKeys, mostBytes = 16 * pageKeys, 16 << 20
	keys := make([]model.ContentKey, 0, mostKeys)
	for key := row.FirstKey; key <= row.LastKey && len(keys) < mostKeys; key++ {
		keys = append(keys, key)
	}
	places, err := readPlaces(t.ctx, t.sql, t.set, keys)
	if err != nil {
		return err
	}
	var bytes int64
	for i, p := range places {
		if p.object == 0 {
			return fmt.Errorf("content %d has no place but the database", keys[i])
		}
		if bytes += p.stored; bytes > mostBytes && i > 0 {
			keys = keys[:i]
			break
		}
	}
	last := keys[len(keys)-1]
	err = t.db.Exec("DELETE FROM content_bytes WHERE set_id = ? AND content_key >= ? AND content_key <= ?", t.set, row.FirstKey, last).Error
	if err != nil {
		return fmt.Errorf("remove database bytes: %w", err)
	}
	stretch := t.db.Model(&spentRow{}).Where("set_id = ? AND first_key = ?", t.set, row.FirstKey)
	if last == row.LastKey {
		err = stretch.Delete(&spentRow{}).Error
	} else {
		err = stretch.Update("first_key", last+1).Error
	}
	if err == nil {
		err = t.db.Model(&spentRow{}).Where("set_id = ?", t.set).Select("COALESCE(MIN(due), 0)").Scan(&t.head.Spent).Error
	}
	if err != nil {
		return fmt.Errorf("note spent bytes: %w", err)
	}
	return nil
}
