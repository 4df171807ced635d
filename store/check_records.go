package store

import (
	"fmt"

	"gateway/model"
)

// records checks that each record's row repeats its newest change.
func (c *check) records() error {
	var rows, changes page
	count := model.RecordNumber(0)
	for {
		scan, err := c.s.reader.Statement.ConnPool.QueryContext(c.ctx, "SELECT "+recordColumns+", id_hash FROM records"+
			" WHERE set_id = ? AND number > ? AND number <= ? ORDER BY number LIMIT ?", c.set.ID, count, c.head.Numbers, pageRows/2)
		if err != nil {
			return err
		}
		rows.rows = rows.rows[:0]
		err = scanChanges(scan, true, func(r *changeRow) error {
			rows.rows = append(rows.rows, *r)
			return nil
		})
		if err != nil {
			return err
		}
		if len(rows.rows) == 0 {
			break
		}
		if err := changes.readAll(c, rows.rows); err != nil {
			return err
		}
		at := make(map[number]*changeRow, len(changes.rows))
		for i := range changes.rows {
			at[changes.rows[i].position] = &changes.rows[i]
		}
		for i := range rows.rows {
			r := &rows.rows[i]
			if r.record != number(count+1) {
				c.report(fmt.Sprintf("record %d", count+1), "its row is missing")
			}
			count = model.RecordNumber(r.record)
			c.record(r, at[r.position])
		}
	}
	if count != c.head.Numbers {
		c.report("records", "they end with number %d, the head says %d", count, c.head.Numbers)
	}
	return nil
}

// readAll reads the changes that the rows name.
func (p *page) readAll(c *check, rows []changeRow) error {
	var all []changeRow
	positions := make([]number, len(rows))
	for i := range rows {
		positions[i] = rows[i].position
	}
	for len(positions) > 0 {
		if err := p.readAt(c.ctx, c.s.reader, c.set.ID, positions); err != nil {
			return err
		}
		found := make(map[number]bool, len(p.rows))
		for i := range p.rows {
			found[p.rows[i].position] = true
		}
		all = append(all, p.rows...)
		if len(found) == 0 {
			break
		}
		rest := positions[:0]
		for _, position := range positions {
			if !found[position] {
				rest = append(rest, position)
			}
		}
		positions = rest
	}
	p.rows = all
	return nil
}

// record compares a record's row with the change it names.
func (c *check) record(r, change *changeRow) {
	where := fmt.Sprintf("record %d", r.record)
	if n := int(r.record); n <= len(c.newest) && r.position <= number(c.head.Position) && model.Position(r.position) != c.newest[n-1] {
		c.report(where, "its row says change %d is its newest, the log says %d", r.position, c.newest[n-1])
	}
	if change == nil {
		c.report(where, "its row names change %d, which is missing", r.position)
		return
	}
	if r.time != change.time || r.kind != change.kind || r.previous != change.previous || r.record != change.record ||
		r.identifier != change.identifier || r.body != change.body {
		c.report(where, "its row differs from change %d", r.position)
	}
	if r.hash != identifierHash(r.identifier) {
		c.report(where, "it cannot be found by its identifier")
	}
}

// counts compares the head's counts of what is live with the state at its
// position.
func (c *check) counts() error {
	var records int64
	var load model.Load
	for change, err := range c.s.States(c.ctx, c.set.ID, c.head.Position, 0) {
		if err != nil {
			if c.ctx.Err() != nil {
				return err
			}
			c.report("records", "%v", err)
			return nil
		}
		records++
		load = load.Plus(model.BoundState(change))
	}
	if records != c.head.Records || load != c.head.Resources {
		c.report("head", "it counts %d live records and resources of %+v, there are %d and %+v", c.head.Records, c.head.Resources, records, load)
	}
	return nil
}
