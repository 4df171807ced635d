package store

import (
	"bytes"
	"context"
	"fmt"

	"gateway/model"
)

// packageRow is a dump package as it is stored.
type packageRow struct {
	SetID        model.SetID `gorm:"primaryKey;autoIncrement:false"`
	Path         string      `gorm:"primaryKey"`
	Epoch        model.EpochNumber
	Snapshot     model.SnapshotNumber
	Segment      model.SegmentNumber
	Position     model.Position
	FirstRecord  model.RecordNumber
	LastRecord   model.RecordNumber
	Manifest     string
	Layout       int
	Members      int
	Size         int64
	Digest       []byte
	LastModified model.Time
}

func (packageRow) TableName() string { return "packages" }

func newPackageRow(set model.SetID, epoch model.EpochNumber, p *model.Package) packageRow {
	return packageRow{SetID: set, Path: p.Path, Epoch: epoch, Snapshot: p.Snapshot, Segment: p.Segment, Position: p.Position,
		FirstRecord: p.First, LastRecord: p.Last, Manifest: p.Manifest, Layout: p.Layout, Members: p.Members,
		Size: p.Size, Digest: p.Digest[:], LastModified: p.LastModified}
}

func (r *packageRow) dumpPackage() model.Package {
	p := model.Package{Path: r.Path, Manifest: r.Manifest, Snapshot: r.Snapshot, Position: r.Position,
		First: r.FirstRecord, Last: r.LastRecord, Segment: r.Segment, Layout: r.Layout, Members: r.Members,
		Size: r.Size, LastModified: r.LastModified}
	copy(p.Digest[:], r.Digest)
	return p
}

// Package returns the package at the path, or [model.ErrNotFound].
func (s *Store) Package(ctx context.Context, set model.SetID, path string) (model.Package, error) {
	var row packageRow
	if err := s.reader.WithContext(ctx).Take(&row, "set_id = ? AND path = ?", set, path).Error; err != nil {
		return model.Package{}, orNotFound(err, "package %s", path)
	}
	return row.dumpPackage(), nil
}

// SnapshotPackages returns the packages of a snapshot in the order of their
// records: those of its parts one after another.
func (s *Store) SnapshotPackages(ctx context.Context, set model.SetID, epoch model.EpochNumber, n model.SnapshotNumber) ([]model.Package, error) {
	var all []model.Package
	for after := model.RecordNumber(-1); ; {
		page, err := s.packages(ctx, "first_record", pageRows, "set_id = ? AND epoch = ? AND snapshot = ? AND segment = 0 AND first_record > ?",
			set, epoch, n, after)
		if err != nil {
			return nil, fmt.Errorf("packages of snapshot %d: %w", n, err)
		}
		all = append(all, page...)
		if len(page) < pageRows {
			return all, nil
		}
		after = page[len(page)-1].First
	}
}

// SegmentPackages returns up to limit packages of segments with numbers greater
// than after, in order.
func (s *Store) SegmentPackages(ctx context.Context, set model.SetID, epoch model.EpochNumber, after model.SegmentNumber, limit int) ([]model.Package, error) {
	page, err := s.packages(ctx, "segment", limit, "set_id = ? AND epoch = ? AND snapshot = 0 AND segment > ?", set, epoch, after)
	if err != nil {
		return nil, fmt.Errorf("packages of segments after %d: %w", after, err)
	}
	return page, nil
}

func (s *Store) packages(ctx context.Context, order string, limit int, where string, args ...any) ([]model.Package, error) {
	var rows []packageRow
	if err := s.reader.WithContext(ctx).Order(order).Limit(limit).Where(where, args...).Find(&rows).Error; err != nil {
		return nil, err
	}
	packages := make([]model.Package, len(rows))
	for i := range rows {
		packages[i] = rows[i].dumpPackage()
	}
	return packages, nil
}

// addPackages makes packages visible. One that is there already must be the
// same, because nothing published is replaced.
func (t *tx) addPackages(p *model.Publication) error {
	const some = 100
	for first := 0; first < len(p.Packages); first += some {
		packages := p.Packages[first:min(first+some, len(p.Packages))]
		paths := make([]string, len(packages))
		for i := range packages {
			paths[i] = packages[i].Path
		}
		var found []packageRow
		if err := t.db.Find(&found, "set_id = ? AND path IN ?", t.set, paths).Error; err != nil {
			return fmt.Errorf("read packages: %w", err)
		}
		there := make(map[string]*packageRow, len(found))
		for i := range found {
			there[found[i].Path] = &found[i]
		}
		var rows []packageRow
		for i := range packages {
			row := newPackageRow(t.set, t.head.Epoch, &packages[i])
			was := there[row.Path]
			if was == nil {
				rows = append(rows, row)
			} else if !bytes.Equal(was.Digest, row.Digest) || was.Layout != row.Layout {
				return fmt.Errorf("package %s is published with other bytes", row.Path)
			}
		}
		if len(rows) > 0 {
			if err := t.db.Create(&rows).Error; err != nil {
				return fmt.Errorf("write packages: %w", err)
			}
		}
	}
	return nil
}
