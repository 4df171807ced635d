package dump

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"sort"

	"gateway/model"
)

// maxName is the greatest length of a member's path in a package we make.
const maxName = 512

// Index is what a package is made of, member by member, without the content. It
// grows by Add and is then only read, by any number of goroutines; a member
// takes 48 bytes and those of its name.
type Index struct {
	members []member
	names   []byte // of all members, without separators

	// Where the next member goes, each counted from 0: in the package, in its
	// content, and in the central directory.
	offset    int64
	content   int64
	directory int64

	sum hash.Hash // over version and members
	buf []byte    // for sum, reused
}

// member is what cannot be computed from the members before it: the rest, and
// every byte of its headers, follows.
type member struct {
	offset    int64 // of its local header, in the package
	content   int64 // of its kept bytes, in the content of all members
	length    int64 // of its identity bytes
	time      model.Time
	directory uint32 // of its central header, in the directory
	nameEnd   uint32 // in names
	crc       uint32
	deflated  bool
}

// NewIndex begins an index of a package in the arrangement of a version, with
// room for n members.
func NewIndex(version, n int) (*Index, error) {
	if version != Version {
		return nil, fmt.Errorf("packages have no arrangement %d; this gateway knows %d", version, Version)
	}
	const usualName = 32
	x := &Index{members: make([]member, 0, n), names: make([]byte, 0, n*usualName), sum: sha256.New()}
	fmt.Fprintf(x.sum, "package layout %d\n", version)
	return x, nil
}

// Add appends a member: its path, what its content is, and its time, that of the
// last change of the resource or, for the manifest, of the package. The first
// must be [ManifestName]. That paths differ from each other is for the caller to
// see to. The path is copied. After an error the index is as before.
func (x *Index) Add(path []byte, c *model.Content, t model.Time) error {
	if err := x.check(path, c); err != nil {
		return fmt.Errorf("add %q to a package: %w", path, err)
	}
	m := member{
		offset: x.offset, content: x.content, length: c.Length, time: t,
		directory: uint32(x.directory), nameEnd: uint32(len(x.names) + len(path)),
		crc: c.CRC32, deflated: c.Deflated,
	}
	x.names = append(x.names, path...)
	x.members = append(x.members, m)
	x.content += c.Stored
	i := len(x.members) - 1
	x.offset += int64(x.localSize(i)) + c.Stored
	x.directory += int64(x.centralSize(i))

	x.buf = appendSummary(x.buf[:0], path, c, t)
	x.sum.Write(x.buf) // a hash returns no error
	return nil
}

func (x *Index) check(path []byte, c *model.Content) error {
	if len(x.members) == 0 && string(path) != ManifestName {
		return errors.New("the first member must be " + ManifestName)
	}
	if len(path) > maxName {
		return fmt.Errorf("a path of %d bytes; at most %d", len(path), maxName)
	}
	if reason := unsafePath(string(path)); reason != "" {
		return errors.New(reason)
	}
	if c.Length < 0 || c.Stored < 0 || !c.Deflated && c.Stored != c.Length {
		return fmt.Errorf("content of %d bytes cannot be kept in %d", c.Length, c.Stored)
	}
	if int64(len(x.names)) > math.MaxUint32-maxName || x.directory > math.MaxUint32 {
		return errors.New("the package has too many members")
	}
	if x.offset > math.MaxInt64/2 || c.Stored > math.MaxInt64/4 {
		return errors.New("the package is too large")
	}
	return nil
}

// appendSummary appends all that the bytes of a package depend on in one member.
func appendSummary(b, path []byte, c *model.Content, t model.Time) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(path)))
	b = append(b, path...)
	b = binary.LittleEndian.AppendUint64(b, uint64(t))
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Length))
	b = binary.LittleEndian.AppendUint64(b, uint64(c.Stored))
	b = binary.LittleEndian.AppendUint32(b, c.CRC32)
	if c.Deflated {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return append(b, c.SHA256[:]...)
}

// Len is the number of members, the manifest included.
func (x *Index) Len() int { return len(x.members) }

// Size is the length of the package.
func (x *Index) Size() int64 { return x.offset + x.directory + int64(x.endSize()) }

// MembersSize is the length of all members with their headers, the manifest's
// first. More members after them change none of these bytes.
func (x *Index) MembersSize() int64 { return x.offset }

// ContentSize is the length of all members' kept bytes together.
func (x *Index) ContentSize() int64 { return x.content }

// Digest tells packages of different bytes apart: it is over the version and all
// names, times, lengths and checksums, and a strong validator (RFC 9110 §8.8.1)
// as long as content of one digest is not deflated anew.
func (x *Index) Digest() [32]byte {
	var d [32]byte
	x.sum.Sum(d[:0])
	return d
}

func (x *Index) name(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = x.members[i-1].nameEnd
	}
	return x.names[start:x.members[i].nameEnd]
}

// stored is the length of member i's kept bytes.
func (x *Index) stored(i int) int64 {
	end := x.content
	if i+1 < len(x.members) {
		end = x.members[i+1].content
	}
	return end - x.members[i].content
}

// memberAt is the member whose header or content holds the byte at off, which is
// before the directory.
func (x *Index) memberAt(off int64) int {
	return sort.Search(len(x.members), func(i int) bool { return x.members[i].offset > off }) - 1
}

// centralAt is the member whose central header holds the byte at off of the
// directory.
func (x *Index) centralAt(off int64) int {
	return sort.Search(len(x.members), func(i int) bool { return int64(x.members[i].directory) > off }) - 1
}

// contentBefore is how much content lies before off in the package; i is the
// member at off.
func (x *Index) contentBefore(i int, off int64) int64 {
	m := &x.members[i]
	return m.content + max(0, off-m.offset-int64(x.localSize(i)))
}

// ContentStart is where the kept bytes of member i (0 is the manifest) begin in
// the content of all members; of i = Len, where they all end.
func (x *Index) ContentStart(i int) int64 {
	if i == len(x.members) {
		return x.content
	}
	return x.members[i].content
}

// ContentAt is the member of whose kept bytes off of the content of all members,
// which is below ContentSize, is one.
func (x *Index) ContentAt(off int64) int {
	return sort.Search(len(x.members), func(i int) bool { return x.members[i].content > off }) - 1
}

// Overhead is at most the length of a package without members but its manifest,
// not counting the manifest's kept bytes.
const Overhead = maxLocal + maxCentral + end64Fixed + locatorFixed + endFixed

// Bound is how much longer a package gets at most by a member with this path and
// content.
func Bound(path []byte, c *model.Content) int64 {
	return maxLocal + maxCentral - 2*maxName + 2*int64(len(path)) + c.Stored
}
