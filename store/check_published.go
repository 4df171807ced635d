package store

import (
	"fmt"

	"gateway/model"
)

// published checks epochs, positions and snapshots against the log.
func (c *check) published() error {
	db, h := c.s.reader.WithContext(c.ctx), &c.head
	var epochs []epochRow
	if err := db.Order("number").Find(&epochs, "set_id = ? AND number <= ?", c.set.ID, h.Epoch).Error; err != nil {
		return fmt.Errorf("read epochs: %w", err)
	}
	for i := range epochs {
		if epochs[i].Number != model.EpochNumber(i+1) {
			c.report(fmt.Sprintf("epoch %d", i+1), "it is missing")
			break
		}
		if i > 0 && epochs[i].Began <= epochs[i-1].Began {
			c.report(fmt.Sprintf("epoch %d", i+1), "it did not begin after the one before it")
		}
	}
	positions, err := c.s.positions(db, c.set.ID, h.Epoch)
	if err != nil {
		return err
	}
	for name, segment := range positions {
		if segment < 0 || segment > h.Segments && segment > c.cutMeanwhile() {
			c.report("renderer "+name, "it has published segment %d, of %d", segment, h.Segments)
		}
	}
	info := setInfo{policy: c.set.Policy, ready: c.view.Ready}
	if due := h.due(&info, c.s.slowest(positions, h.Segments), positions[model.Packer]); due != 0 && !h.Due.Valid {
		c.report("head", "publishing has work to do there and will never look at it")
	}
	if h.Snapshot != 0 && c.view.Snapshot.Number != h.Snapshot {
		c.report(fmt.Sprintf("snapshot %d", h.Snapshot), "it is missing")
	}
	if n := &c.view.Snapshot; n.Position > h.Position || n.Position != h.SnapshotPosition || n.At != h.SnapshotAt {
		c.report(fmt.Sprintf("snapshot %d", n.Number), "it is of position %d at %v, the head is at %d and says %d at %v",
			n.Position, n.At, h.Position, h.SnapshotPosition, h.SnapshotAt)
	}
	return nil
}

// cutMeanwhile is how many segments there are now.
func (c *check) cutMeanwhile() model.SegmentNumber {
	var n model.SegmentNumber
	if err := c.s.reader.WithContext(c.ctx).Table("heads").Where("set_id = ?", c.set.ID).Select("segments").Scan(&n).Error; err != nil {
		return c.head.Segments
	}
	return n
}
