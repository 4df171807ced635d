package resourcesync

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"fmt"
	"hash"
	"hash/crc32"

	"gateway/model"
)

// memory is a sink for one document, a manifest that nobody asks for again.
type memory struct {
	kept    bytes.Buffer
	content model.Content

	deflater *flate.Writer
	sum      hash.Hash
}

// Create implements [model.Sink].
func (m *memory) Create(path, _ string, _ model.Time) (model.DocumentWriter, error) {
	if m.deflater != nil {
		return nil, fmt.Errorf("create %s: there is a document already", path)
	}
	var err error
	m.deflater, err = flate.NewWriter(&m.kept, flate.BestSpeed)
	m.sum = sha256.New()
	return m, err
}

// Add implements [model.Sink].
func (*memory) Add(model.Package) {}

func (m *memory) Write(b []byte) (int, error) {
	m.sum.Write(b)
	m.content.CRC32 = crc32.Update(m.content.CRC32, crc32.IEEETable, b)
	m.content.Length += int64(len(b))
	return m.deflater.Write(b)
}

// Close completes the document.
func (m *memory) Close() error {
	if err := m.deflater.Close(); err != nil {
		return err
	}
	m.sum.Sum(m.content.SHA256[:0])
	m.content.Deflated, m.content.Stored = true, int64(m.kept.Len())
	return nil
}

// Content implements [model.DocumentWriter].
func (m *memory) Content() model.Content { return m.content }
