package store

import (
	"database/sql"
	"errors"
	"fmt"

	"gateway/model"
)

// objects checks that the objects which hold content are there, as long as they
// say, and hold what the places say. Whether the content is right is checked
// with the changes that name it.
func (c *check) objects() error {
	held, err := c.places()
	if err != nil {
		return err
	}
	sparse := false
	for after := int64(0); ; {
		var rows []objectRow
		err := c.s.reader.WithContext(c.ctx).Order("number").Limit(pageRows).
			Find(&rows, "set_id = ? AND number > ?", c.set.ID, after).Error
		if err != nil {
			return fmt.Errorf("read objects: %w", err)
		}
		if len(rows) == 0 {
			break
		}
		for i := range rows {
			if err := c.object(&rows[i], held[rows[i].Number]); err != nil {
				return err
			}
			delete(held, rows[i].Number)
			sparse = sparse || rows[i].Stored*2 < rows[i].Size
			after = rows[i].Number
		}
	}
	for number := range held {
		c.report(fmt.Sprintf("object %d", number), "its row is missing, and content lies there")
	}
	if sparse && !c.head.Sparse && !c.moved() {
		c.report("head", "objects are more than half without content, and it does not say so")
	}
	return nil
}

// heldContent is what lies in an object according to places.
type heldContent struct {
	objectCount
	end int64 // of the last
}

// places reads all places.
func (c *check) places() (map[int64]heldContent, error) {
	held := map[int64]heldContent{}
	for after := int64(-1); ; {
		last, err := scanPlaces(c.ctx, c.s.reader.Statement.ConnPool, c.set.ID, after, func(_ int64, p *placePage) {
			for _, e := range p {
				if e.object == 0 {
					continue
				}
				h := held[e.object]
				h.add(1, e.stored)
				h.end = max(h.end, e.start+e.stored)
				held[e.object] = h
			}
		})
		if errors.Is(err, errPlaces) {
			c.report(fmt.Sprintf("places of contents from %d", last*pageKeys+1), "%v", errPlaces)
			err = nil
		}
		if err != nil {
			return nil, err
		}
		if last == after {
			return held, nil
		}
		after = last
	}
}

// object checks one object; what it holds may have moved since it was read.
func (c *check) object(row *objectRow, held heldContent) error {
	where := "object " + row.Object
	kept, err := c.s.OpenObject(c.ctx, row.Object)
	if err != nil {
		if c.ctx.Err() != nil {
			return err
		}
		if there, e := c.current(row); e != nil || !there {
			return e
		}
		if errors.Is(err, model.ErrNotFound) {
			err = fmt.Errorf("it is missing, and %d contents lie there", row.Contents)
		}
		c.report(where, "%v", err)
		return nil
	}
	defer kept.Close()
	if kept.Size() != row.Size {
		c.report(where, "it has %d bytes, want %d", kept.Size(), row.Size)
	}
	if held.end <= row.Size && held.contents == row.Contents && held.stored == row.Stored {
		return nil
	}
	if there, err := c.current(row); err != nil || !there {
		return err
	}
	if held.end > row.Size {
		c.report(where, "content lies there up to %d, after its end at %d", held.end, row.Size)
	}
	if held.contents != row.Contents || held.stored != row.Stored {
		c.report(where, "its row counts %d contents of %d bytes, there are %d of %d", row.Contents, row.Stored, held.contents, held.stored)
	}
	return nil
}

// current tells whether the object's row is still as it was.
func (c *check) current(row *objectRow) (bool, error) {
	var now objectRow
	err := c.s.reader.WithContext(c.ctx).Take(&now, "set_id = ? AND number = ?", row.SetID, row.Number).Error
	if isNoRow(err) {
		return false, nil
	}
	return now == *row, err
}

// spent checks that the database bytes which are to go are kept elsewhere.
func (c *check) spent() error {
	var rows []spentRow
	err := c.s.reader.WithContext(c.ctx).Order("first_key").Limit(pageRows).Find(&rows, "set_id = ?", c.set.ID).Error
	if err != nil {
		return fmt.Errorf("read spent bytes: %w", err)
	}
	for _, row := range rows {
		if row.FirstKey < 1 || row.FirstKey > row.LastKey || row.LastKey > c.head.ContentKeys && !c.moved() {
			c.report("spent bytes", "they are of the contents %d to %d, of %d", row.FirstKey, row.LastKey, c.head.ContentKeys)
			continue
		}
		if c.head.Spent == 0 && !c.moved() {
			c.report("head", "bytes of contents from %d on are spent, and it does not say when they go", row.FirstKey)
		}
		for first := row.FirstKey; first <= row.LastKey; first += pageRows {
			if err := c.placedAll(first, min(first+pageRows-1, row.LastKey)); err != nil {
				return err
			}
		}
	}
	return nil
}

// placedAll checks that contents with consecutive keys have places.
func (c *check) placedAll(first, last model.ContentKey) error {
	keys := make([]model.ContentKey, 0, last-first+1)
	for key := first; key <= last; key++ {
		keys = append(keys, key)
	}
	places, err := readPlaces(c.ctx, c.s.reader.Statement.ConnPool, c.set.ID, keys)
	if errors.Is(err, errPlaces) {
		return nil // that was reported
	}
	if err != nil {
		return err
	}
	for i, p := range places {
		if p.object == 0 {
			c.report(fmt.Sprintf("content %d", keys[i]), "its bytes are spent, and it has no place in an object")
		}
	}
	return nil
}

// moved tells whether the set was written to since its head was read.
func (c *check) moved() bool {
	var due sql.NullInt64
	var spent model.Time
	var keys model.ContentKey
	row := c.s.reader.Statement.ConnPool.QueryRowContext(c.ctx, "SELECT content_keys, spent, due FROM heads WHERE set_id = ?", c.set.ID)
	if err := row.Scan(&keys, &spent, &due); err != nil {
		return false
	}
	return keys != c.head.ContentKeys || spent != c.head.Spent || due != c.head.Due
}
