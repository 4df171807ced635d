package store

import (
	"fmt"

	"gateway/model"
)

// packages checks that packages have what they are made of: a stored manifest,
// and the snapshot or segment whose content they hold.
func (c *check) packages() error {
	db := c.s.reader.WithContext(c.ctx)
	for after := ""; ; {
		var rows []packageRow
		err := db.Order("path").Limit(pageRows).
			Find(&rows, "set_id = ? AND path > ? AND epoch = ?", c.set.ID, after, c.head.Epoch).Error
		if err != nil {
			return fmt.Errorf("read packages: %w", err)
		}
		if len(rows) == 0 {
			return nil
		}
		for i := range rows {
			if err := c.dumpPackage(&rows[i]); err != nil {
				return err
			}
			after = rows[i].Path
		}
	}
}

func (c *check) dumpPackage(row *packageRow) error {
	where := "package " + row.Path
	if row.Segment > 0 && row.Segment > c.head.Segments && row.Segment > c.cutMeanwhile() {
		c.report(where, "it is of segment %d; %d were cut", row.Segment, c.head.Segments)
	}
	manifest, err := c.s.Document(c.ctx, c.set.ID, row.Manifest)
	if err != nil {
		if c.ctx.Err() != nil {
			return err
		}
		// With its snapshot it may have gone since it was read.
		if _, gone := c.s.Package(c.ctx, c.set.ID, row.Path); gone == nil {
			c.report(where, "its manifest %s: %v", row.Manifest, err)
		}
		return nil
	}
	if manifest.Snapshot != row.Snapshot {
		c.report(where, "it goes with snapshot %d, its manifest with %d", row.Snapshot, manifest.Snapshot)
	}
	if smallest := manifest.Content.Stored + int64(row.Members); row.Size <= smallest || row.Members < 0 {
		c.report(where, "it has %d bytes, too few for %d members and a manifest of %d bytes", row.Size, row.Members, manifest.Content.Stored)
	}
	if row.Layout < 1 || row.Digest == nil || len(row.Digest) != len(model.Package{}.Digest) {
		c.report(where, "its layout is %d and its digest has %d bytes", row.Layout, len(row.Digest))
	}
	return nil
}
