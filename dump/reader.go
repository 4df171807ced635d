package dump

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// Limits bound what a package may ask of its reader. What is 0 has the default
// named beside it.
type Limits struct {
	Members int   // files and folders: 100,000
	Size    int64 // of one member, unpacked: 16 GiB
	Total   int64 // of all members, unpacked: 256 GiB
	Ratio   int64 // unpacked to packed, of what a member has above 1 MiB: 200
	Path    int   // length of a path in bytes: 1,024
	Depth   int   // parts of a path: 16
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Members: cmp.Or(l.Members, 100_000),
		Size:    cmp.Or(l.Size, 16<<30),
		Total:   cmp.Or(l.Total, 256<<30),
		Ratio:   cmp.Or(l.Ratio, 200),
		Path:    cmp.Or(l.Path, 1024),
		Depth:   cmp.Or(l.Depth, 16),
	}
}

// Refusal is why a package is not accepted: it is not what it says it is, or it
// asks for too much. Other errors of reading say nothing about the package.
type Refusal struct {
	Member string // "": the package as a whole
	Reason string
}

func (e *Refusal) Error() string {
	if e.Member == "" {
		return e.Reason
	}
	return fmt.Sprintf("%q: %s", e.Member, e.Reason)
}

func refuse(member, format string, args ...any) error {
	return &Refusal{Member: member, Reason: fmt.Sprintf(format, args...)}
}

// Reader is an open package whose structures have been checked.
type Reader struct {
	r       io.ReaderAt
	members []Member // in the order of the package
	byName  map[string]int
}

// Member is a file in a package.
type Member struct {
	Name   string
	Length int64 // unpacked

	r         io.ReaderAt // the package
	offset    int64       // of its local header
	data      int64       // where its stored bytes begin
	stored    int64
	crc       uint32
	method    uint16
	flags     uint16
	directory bool
}

// Open reads the structures of a package of size bytes and accepts it only when
// there is one way to understand them:
//
//   - nothing stands before the first member, between members, or after the end
//     record; no two members share bytes;
//   - each member's local header says what the directory says;
//   - there is no encryption, no method but stored and deflate, no file that is
//     not a plain file, no second disk, no comment on the package;
//   - paths are relative, with slashes, UTF-8, without . and .. and drive
//     letters, and each is one file, also where case does not matter;
//   - it keeps to the limits;
//   - it has a manifest.xml at its top.
//
// Data descriptors, extra fields, folders and ZIP64 records, as other tools
// write them, are fine. What is wrong with a package is a [*Refusal]. Contents
// are checked as they are read.
func Open(r io.ReaderAt, size int64, limits Limits) (*Reader, error) {
	p, err := open(r, size, limits.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open a package: %w", err)
	}
	return p, nil
}

func open(r io.ReaderAt, size int64, limits Limits) (*Reader, error) {
	e, err := readEnd(r, size)
	if err != nil {
		return nil, err
	}
	if e.members > uint64(limits.Members) {
		return nil, refuse("", "it has %d members; at most %d", e.members, limits.Members)
	}
	all, err := readDirectory(r, e, limits)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.offset, b.offset) })
	if err := checkLocals(r, all, e.directory); err != nil {
		return nil, err
	}
	p := &Reader{r: r, members: slices.DeleteFunc(all, func(m Member) bool { return m.directory })}
	p.byName = make(map[string]int, len(p.members))
	for i := range p.members {
		p.byName[p.members[i].Name] = i
	}
	if _, ok := p.byName[ManifestName]; !ok {
		return nil, refuse("", "it has no "+ManifestName)
	}
	return p, nil
}

// Members returns the files of the package, the manifest among them, in the
// order in which they lie. The slice is the reader's.
func (p *Reader) Members() []Member { return p.members }

// Member returns the file of that path, or nil.
func (p *Reader) Member(name string) *Member {
	i, ok := p.byName[name]
	if !ok {
		return nil
	}
	return &p.members[i]
}

// readDirectory reads the central directory, which must have as many headers as
// e says and fill its place.
func readDirectory(r io.ReaderAt, e end, limits Limits) ([]Member, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(r, e.directory, e.size), 64<<10)
	left := e.size
	// e.members is within limits, and so is what is reserved for it.
	members := make([]Member, 0, min(e.members, uint64(e.size/centralFixed)))
	seen := make(tree, cap(members))
	total := int64(0)
	for range e.members {
		m, n, err := readCentral(in, left)
		if err != nil {
			return nil, err
		}
		left -= n
		if reason := m.exceeds(limits); reason != "" {
			return nil, refuse(m.Name, "%s", reason)
		}
		if m.Length > limits.Total-total {
			return nil, refuse("", "it unpacks to more than %d bytes", limits.Total)
		}
		total += m.Length
		k := file
		if m.directory {
			k = folder
		}
		if reason := seen.add(m.Name, k); reason != "" {
			return nil, refuse(m.Name, "%s", reason)
		}
		m.r = r
		members = append(members, m)
	}
	if left > 0 {
		return nil, refuse("", "its directory has %d bytes after the last member", left)
	}
	return members, nil
}

// exceeds says which of the limits m breaks, or "".
func (m *Member) exceeds(l Limits) string {
	const small = 1 << 20
	switch {
	case len(m.Name) > l.Path:
		return fmt.Sprintf("its path has %d bytes; at most %d", len(m.Name), l.Path)
	case depth(m.Name) > l.Depth:
		return fmt.Sprintf("its path has %d parts; at most %d", depth(m.Name), l.Depth)
	case m.Length > l.Size:
		return fmt.Sprintf("it unpacks to %d bytes; at most %d", m.Length, l.Size)
	case m.Length > small && (m.Length-small)/l.Ratio > m.stored:
		return fmt.Sprintf("it unpacks from %d to %d bytes; at most %d times as many", m.stored, m.Length, l.Ratio)
	}
	return ""
}
