package store

import (
	"fmt"

	"gateway/model"
)

// log checks the changes, what they say of each other, the segments they fill,
// and their content.
func (c *check) log() error {
	segments := segmentCursor{c: c, from: c.set.Created}
	var p page
	var change model.Change
	var last *changeRow
	at, time := model.Position(0), c.set.Created
	kinds := [4]int64{}
	for at < c.head.Position {
		const query = "SELECT " + changeColumns + " FROM changes WHERE set_id = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?"
		if err := p.read(c.ctx, c.s.reader, query, c.set.ID, at, c.head.Position, pageRows); err != nil {
			return err
		}
		if len(p.rows) == 0 {
			c.report("log", "it ends at position %d, the head is at %d", at, c.head.Position)
			break
		}
		var wanted []wantedContent
		for i := range p.rows {
			last = &p.rows[i]
			where := fmt.Sprintf("change %d", last.position)
			if err := last.parse(&change); err != nil {
				c.report(where, "%v", err)
			} else {
				wanted = c.newContent(wanted, &change)
			}
			if change.Position != at+1 {
				c.report(where, "the position before it is %d", at)
			}
			if change.Time <= time {
				c.report(where, "its time %v is not after %v, the time of what comes before", change.Time, time)
			}
			if change.Kind < model.Created || change.Kind > model.Deleted {
				c.report(where, "its kind is %d", change.Kind)
			} else {
				kinds[change.Kind]++
			}
			c.chain(where, &change)
			at, time = change.Position, change.Time
			boundary, err := segments.pass(&change)
			if err != nil {
				return err
			}
			time = max(time, boundary)
		}
		if err := c.contents(wanted); err != nil {
			return err
		}
	}
	if err := segments.end(); err != nil {
		return err
	}
	c.logHead(time, kinds)
	return nil
}

// logHead compares the head with what the log showed.
func (c *check) logHead(time model.Time, kinds [4]int64) {
	h := &c.head
	if h.Changes != kinds {
		c.report("head", "it counts %v changes of each kind, there are %v", h.Changes[1:], kinds[1:])
	}
	if h.Time != time {
		c.report("head", "its time is %v, the log's is %v", h.Time, time)
	}
	if int(h.Numbers) != len(c.newest) {
		c.report("head", "it gave out %d record numbers, the log has %d", h.Numbers, len(c.newest))
	}
	if h.ContentKeys != c.keys {
		c.report("head", "it gave out %d content keys, the log has %d", h.ContentKeys, c.keys)
	}
	if h.Tail != c.tail.Tail || h.TailTime != c.tail.TailTime {
		c.report("head", "its tail is %+v since %v, the log's is %+v since %v", h.Tail, h.TailTime, c.tail.Tail, c.tail.TailTime)
	}
}

// chain checks that a change goes on where its record's last one ended.
func (c *check) chain(where string, change *model.Change) {
	n := int(change.Record)
	if n == len(c.newest)+1 {
		if change.Previous != 0 || change.Kind != model.Created {
			c.report(where, "it is the first of record %d, but says %v after %d", n, change.Kind, change.Previous)
		}
		c.newest, c.kinds = append(c.newest, change.Position), append(c.kinds, change.Kind)
		return
	}
	if n < 1 || n > len(c.newest) {
		c.report(where, "it is of record %d, the last new record was %d", n, len(c.newest))
		return
	}
	if was := c.newest[n-1]; change.Previous != was {
		c.report(where, "it says that change %d came before it of record %d; %d did", change.Previous, n, was)
	}
	if (c.kinds[n-1] == model.Deleted) != (change.Kind == model.Created) {
		c.report(where, "it says %v after %v", change.Kind, c.kinds[n-1])
	}
	c.newest[n-1], c.kinds[n-1] = change.Position, change.Kind
}

// segmentCursor goes through the segments beside the log.
type segmentCursor struct {
	c       *check
	page    []model.Segment
	done    model.SegmentNumber
	last    model.Position
	from    model.Time
	missing bool
}

// next returns the segment after the last that is done, or nil.
func (s *segmentCursor) next() (*model.Segment, error) {
	if s.missing || s.done >= s.c.head.Segments {
		return nil, nil
	}
	if len(s.page) == 0 {
		var err error
		if s.page, err = s.c.s.Segments(s.c.ctx, s.c.set.ID, s.done, pageRows); err != nil {
			return nil, err
		}
	}
	if len(s.page) == 0 || s.page[0].Number != s.done+1 {
		s.missing = true
		s.c.report(fmt.Sprintf("segment %d", s.done+1), "it is missing; the head says that %d were cut", s.c.head.Segments)
		return nil, nil
	}
	return &s.page[0], nil
}

// pass takes the next change of the log, and returns the boundary that follows
// it, or 0.
func (s *segmentCursor) pass(change *model.Change) (model.Time, error) {
	tail := &s.c.tail
	if tail.Tail.Changes == 0 {
		tail.TailTime = change.Time
	}
	tail.Tail.Add(model.Bound(change), 0)
	seg, err := s.next()
	if err != nil || seg == nil || change.Position < seg.Last {
		return 0, err
	}
	where := fmt.Sprintf("segment %d", seg.Number)
	if seg.First != s.last+1 || seg.Last != change.Position {
		s.c.report(where, "it holds the positions %d to %d, and the one before it ends at %d", seg.First, seg.Last, s.last)
	}
	if seg.From != s.from {
		s.c.report(where, "it begins at %v, and the one before it ends at %v", seg.From, s.from)
	}
	if seg.Until != change.Time+1 {
		s.c.report(where, "it ends at %v, and its last change is of %v", seg.Until, change.Time)
	}
	s.done, s.last, s.from, s.page = seg.Number, seg.Last, seg.Until, s.page[1:]
	tail.Tail, tail.TailTime = model.Cutter{}, 0
	return seg.Until, nil
}

// end checks that no segment is left over after the log.
func (s *segmentCursor) end() error {
	seg, err := s.next()
	if err != nil {
		return err
	}
	if seg != nil {
		s.c.report(fmt.Sprintf("segment %d", seg.Number), "it holds positions up to %d, after the end of the log", seg.Last)
	}
	if s.c.head.Boundary != s.from && !s.missing {
		s.c.report("head", "it says that the last cut was at %v, the segments say %v", s.c.head.Boundary, s.from)
	}
	return nil
}
