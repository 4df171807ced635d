package dump

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"gateway/sitemap"
)

// Capabilities of manifests (ResourceSync 1.1 §11.2, §13.2).
const (
	ResourceDumpManifest = "resourcedump-manifest"
	ChangeDumpManifest   = "changedump-manifest"
)

// Manifest writes the document that lists a package's members. Entries come in
// the order of the members. After an error nothing more may be written.
type Manifest struct {
	w       io.Writer
	written int64 // to w
	changes bool
	entries int
	buf     []byte // not yet written to w
	path    []byte // of one entry, reused
	last    []byte // datetime of the entry before
}

// maxEntries is how many entries a Sitemap may have (sitemaps.org, "Sitemap
// file").
const maxEntries = 50_000

// NewManifest begins a manifest on w. The root says which of the two it is by
// its capability; it needs a link up, and at for a Resource Dump or from for a
// Change Dump.
func NewManifest(w io.Writer, root *sitemap.Root) (*Manifest, error) {
	m := &Manifest{w: w, changes: root.MD.Capability == ChangeDumpManifest}
	switch {
	case !m.changes && root.MD.Capability != ResourceDumpManifest:
		return nil, fmt.Errorf("begin a manifest: it cannot have the capability %q", root.MD.Capability)
	case !m.changes && len(root.MD.At) == 0:
		return nil, errors.New("begin a manifest of a resource dump: at is missing")
	case m.changes && len(root.MD.From) == 0:
		return nil, errors.New("begin a manifest of a change dump: from is missing")
	case !hasLink(root.Links, "up"):
		return nil, errors.New("begin a manifest: the link up is missing")
	}
	m.buf = sitemap.List.AppendRoot(nil, root)
	return m, nil
}

func hasLink(links []sitemap.Link, rel string) bool {
	for i := range links {
		if links[i].Rel == rel && len(links[i].Href) > 0 {
			return true
		}
	}
	return false
}

// Add writes the entry of the member at path; of a change that left no content
// (deleted) the path is nil. The entry's own path is not looked at.
func (m *Manifest) Add(e *sitemap.Entry, path []byte) error {
	if err := m.check(e, path); err != nil {
		return fmt.Errorf("add %s to a manifest: %w", e.Loc, err)
	}
	m.entries++
	m.last = append(m.last[:0], e.MD.DateTime...)
	entry := *e
	entry.MD.Path = nil
	if path != nil {
		m.path = append(append(m.path[:0], '/'), path...)
		entry.MD.Path = m.path
	}
	m.buf = sitemap.List.AppendEntry(m.buf, &entry)
	const enough = 64 << 10
	if len(m.buf) >= enough {
		return m.flush()
	}
	return nil
}

func (m *Manifest) check(e *sitemap.Entry, path []byte) error {
	deleted := e.MD.Change == "deleted"
	switch {
	case m.entries == maxEntries:
		return fmt.Errorf("it has %d entries already", maxEntries)
	case len(e.Loc) == 0:
		return errors.New("loc is missing")
	case m.changes && (e.MD.Change == "" || len(e.MD.DateTime) == 0):
		return errors.New("change or datetime is missing")
	case !m.changes && e.MD.Change != "":
		return errors.New("a resource dump has no changes")
	case bytes.Compare(e.MD.DateTime, m.last) < 0: // times are of one width
		return errors.New("it is older than the entry before")
	case deleted != (path == nil):
		return errors.New("all but deletions have a path")
	case string(path) == ManifestName:
		return errors.New("it has the path of the manifest")
	case !deleted && unsafePath(string(path)) != "":
		return errors.New(unsafePath(string(path)))
	}
	return nil
}

// Size is the length of the document so far.
func (m *Manifest) Size() int64 { return m.written + int64(len(m.buf)) }

// Close writes the end of the document. It does not close what it was written
// to.
func (m *Manifest) Close() error {
	m.buf = sitemap.List.AppendEnd(m.buf)
	return m.flush()
}

func (m *Manifest) flush() error {
	n, err := m.w.Write(m.buf)
	m.written += int64(n)
	m.buf = m.buf[:0]
	if err != nil {
		return fmt.Errorf("write a manifest: %w", err)
	}
	return nil
}
