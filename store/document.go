package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"gateway/model"
)

// documentRow is a stored document: where its bytes are and what they must be.
type documentRow struct {
	SetID        model.SetID `gorm:"primaryKey;autoIncrement:false"`
	Path         string      `gorm:"primaryKey"`
	Epoch        model.EpochNumber
	Snapshot     model.SnapshotNumber
	Type         string
	SHA256       []byte `gorm:"column:sha256"`
	CRC32        uint32 `gorm:"column:crc32"`
	Length       int64
	Stored       int64
	Deflated     bool
	Zstd         int64
	Object       string
	LastModified model.Time
}

func (documentRow) TableName() string { return "documents" }

func newDocumentRow(set model.SetID, epoch model.EpochNumber, d *model.Document) documentRow {
	return documentRow{SetID: set, Path: d.Path, Epoch: epoch, Snapshot: d.Snapshot, Type: d.Type,
		SHA256: d.Content.SHA256[:], CRC32: d.Content.CRC32, Length: d.Content.Length, Stored: d.Content.Stored, Deflated: d.Content.Deflated,
		Zstd: d.Zstd, Object: d.Object, LastModified: d.LastModified}
}

func (r *documentRow) document() model.Document {
	d := model.Document{Path: r.Path, Type: r.Type, Zstd: r.Zstd, Object: r.Object, LastModified: r.LastModified, Snapshot: r.Snapshot,
		Content: model.Content{Length: r.Length, Stored: r.Stored, Deflated: r.Deflated, CRC32: r.CRC32}}
	copy(d.Content.SHA256[:], r.SHA256)
	return d
}

// Document returns the stored document at the path, or [model.ErrNotFound]. One
// that another process removed is found for 50 ms yet.
func (s *Store) Document(ctx context.Context, set model.SetID, path string) (model.Document, error) {
	key, now := documentKey{set, path}, time.Now()
	d, found, asOf := s.views.document(key, now)
	if found {
		return d, nil
	}
	var row documentRow
	if err := s.reader.WithContext(ctx).Take(&row, "set_id = ? AND path = ?", set, path).Error; err != nil {
		return model.Document{}, orNotFound(err, "document %s", path)
	}
	d = row.document()
	s.views.keepDocument(key, d, now, asOf)
	return d, nil
}

// addDocuments makes the rows URL → object. One that is there already with the
// same bytes is left; with others it is a mistake, because nothing published is
// replaced.
func (t *tx) addDocuments(p *model.Publication) error {
	const some = 100
	for first := 0; first < len(p.Documents); first += some {
		documents := p.Documents[first:min(first+some, len(p.Documents))]
		there, err := t.documents(documents)
		if err != nil {
			return err
		}
		var rows []documentRow
		var objects []string
		for i := range documents {
			d := &documents[i]
			objects = append(objects, d.Object)
			if was, ok := there[d.Path]; ok {
				if !bytes.Equal(was.SHA256, d.Content.SHA256[:]) {
					return fmt.Errorf("document %s is published with other bytes", d.Path)
				}
				continue
			}
			rows = append(rows, newDocumentRow(t.set, t.head.Epoch, d))
		}
		if len(rows) > 0 {
			if err := t.db.Create(&rows).Error; err != nil {
				return fmt.Errorf("write documents: %w", err)
			}
		}
		if err := t.db.Exec("DELETE FROM intents WHERE set_id = ? AND object IN ?", t.set, objects).Error; err != nil {
			return fmt.Errorf("end reservations: %w", err)
		}
	}
	return nil
}

// documents returns those that are there already, by path.
func (t *tx) documents(documents []model.Document) (map[string]documentRow, error) {
	paths := make([]string, len(documents))
	for i := range documents {
		paths[i] = documents[i].Path
	}
	var rows []documentRow
	if err := t.db.Find(&rows, "set_id = ? AND path IN ?", t.set, paths).Error; err != nil {
		return nil, fmt.Errorf("read documents: %w", err)
	}
	there := make(map[string]documentRow, len(rows))
	for _, row := range rows {
		there[row.Path] = row
	}
	return there, nil
}
