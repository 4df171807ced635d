package dump

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
	"strings"
)

// end is what the records at the end of a package say.
type end struct {
	members   uint64
	directory int64 // where the central directory begins
	size      int64 // of the directory, which ends where the end records begin
}

// readEnd reads the end records (APPNOTE §4.3.14–16), which must be the very
// last bytes and say where the directory is without gap.
func readEnd(r io.ReaderAt, size int64) (end, error) {
	if size < endFixed {
		return end{}, refuse("", "it has %d bytes, too few for a ZIP archive", size)
	}
	var b [end64Fixed + locatorFixed + endFixed]byte
	tail := b[max(0, int64(len(b))-size):]
	if err := readFull(r, tail, size-int64(len(tail))); err != nil {
		return end{}, err
	}
	record := b[end64Fixed+locatorFixed:]
	if binary.LittleEndian.Uint32(record) != endSignature || binary.LittleEndian.Uint16(record[20:]) != 0 {
		return end{}, refuse("", "it does not end in an end record without comment")
	}
	e := end{
		members:   uint64(binary.LittleEndian.Uint16(record[10:])),
		size:      int64(binary.LittleEndian.Uint32(record[12:])),
		directory: int64(binary.LittleEndian.Uint32(record[16:])),
	}
	if binary.LittleEndian.Uint32(record[4:]) != 0 || uint64(binary.LittleEndian.Uint16(record[8:])) != e.members {
		return end{}, refuse("", "it is a part of several")
	}
	start := size - endFixed
	locator := b[end64Fixed:][:locatorFixed]
	if len(tail) == len(b) && binary.LittleEndian.Uint32(locator) == locator64Signature {
		start -= end64Fixed + locatorFixed
		var err error
		if e, err = e.zip64(b[:end64Fixed], locator, start); err != nil {
			return end{}, err
		}
	}
	if e.size > start || e.directory != start-e.size {
		return end{}, refuse("", "its directory does not end where the end record begins")
	}
	return e, nil
}

// zip64 reads the ZIP64 end record, which must be at start and agree with what
// the plain one says, where that says anything.
func (e end) zip64(record, locator []byte, start int64) (end, error) {
	u64 := binary.LittleEndian.Uint64
	if binary.LittleEndian.Uint32(record) != end64Signature || u64(record[4:]) != end64Fixed-12 ||
		u64(locator[8:]) != uint64(start) {
		return end{}, refuse("", "its ZIP64 end record is not where it should be")
	}
	if binary.LittleEndian.Uint32(locator[4:]) != 0 || binary.LittleEndian.Uint32(locator[16:]) > 1 ||
		u64(record[16:]) != 0 || u64(record[24:]) != u64(record[32:]) {
		return end{}, refuse("", "it is a part of several")
	}
	members, size, directory := u64(record[32:]), u64(record[40:]), u64(record[48:])
	if e.members != max16 && e.members != members || e.size != max32 && uint64(e.size) != size ||
		e.directory != max32 && uint64(e.directory) != directory {
		return end{}, refuse("", "its two end records disagree")
	}
	if size > uint64(start) || directory > uint64(start) {
		return end{}, refuse("", "its directory is not within it")
	}
	return end{members: members, size: int64(size), directory: int64(directory)}, nil
}

// Flags that a member may have: the levels of deflate (1, 2), a data descriptor
// (3) and UTF-8 (11). The others mean encryption, patches, or nothing yet.
const (
	flagDescriptor = 1 << 3
	flagsAllowed   = 1<<1 | 1<<2 | flagDescriptor | flagUTF8
)

// readCentral reads one central header (§4.3.12), of which left bytes at most
// are there, and tells its length.
func readCentral(in *bufio.Reader, left int64) (m Member, n int64, err error) {
	var h [centralFixed]byte
	if left < centralFixed {
		return m, 0, refuse("", "its directory ends amid a header")
	}
	if _, err := io.ReadFull(in, h[:]); err != nil {
		return m, 0, err
	}
	if binary.LittleEndian.Uint32(h[:]) != centralSignature {
		return m, 0, refuse("", "its directory has something that is no header")
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(h[at:])) }
	name, extra, comment := u16(28), u16(30), u16(32)
	n = int64(centralFixed + name + extra + comment)
	if n > left {
		return m, 0, refuse("", "its directory ends amid a header")
	}
	rest := make([]byte, name+extra+comment)
	if _, err := io.ReadFull(in, rest); err != nil {
		return m, 0, err
	}
	m = Member{
		Name:   string(rest[:name]),
		flags:  uint16(u16(8)),
		method: uint16(u16(10)),
		crc:    binary.LittleEndian.Uint32(h[16:]),
	}
	s := sizes{
		stored: uint64(binary.LittleEndian.Uint32(h[20:])),
		length: uint64(binary.LittleEndian.Uint32(h[24:])),
		offset: uint64(binary.LittleEndian.Uint32(h[42:])),
	}
	if u16(34) != 0 {
		return m, 0, refuse(m.Name, "it is on another disk")
	}
	if reason := s.extra(m.Name, rest[name:name+extra]); reason != "" {
		return m, 0, refuse(m.Name, "%s", reason)
	}
	if s.stored >= 1<<62 || s.length >= 1<<62 || s.offset >= 1<<62 {
		return m, 0, refuse(m.Name, "its sizes are not within the package")
	}
	m.stored, m.Length, m.offset = int64(s.stored), int64(s.length), int64(s.offset)
	if reason := m.check(binary.LittleEndian.Uint32(h[38:])); reason != "" {
		return m, 0, refuse(m.Name, "%s", reason)
	}
	return m, n, nil
}

// check says what is wrong with what a central header says, or "". It takes the
// slash off the name of a folder.
func (m *Member) check(attributes uint32) string {
	m.Name, m.directory = strings.CutSuffix(m.Name, "/")
	if reason := unsafePath(m.Name); reason != "" {
		return reason
	}
	const unixType, unixRegular, unixFolder, unixSpecial = 0o170000, 0o100000, 0o040000, 0o7000
	mode := attributes >> 16
	switch {
	case m.flags&1 != 0 || m.flags&(1<<6|1<<13) != 0:
		return "it is encrypted"
	case m.flags&^flagsAllowed != 0:
		return "it uses a feature that is not supported"
	case m.method != methodStored && m.method != methodDeflate:
		return "its compression method is not supported"
	case m.method == methodStored && m.stored != m.Length:
		return "it is stored as it is, with two lengths"
	case m.directory && (m.Length != 0 || m.stored > 2): // 2: an empty stream
		return "it is a folder with content"
	case mode&unixSpecial != 0:
		return "it has a special mode"
	case mode&unixType != 0 && !m.directory && mode&unixType != unixRegular,
		mode&unixType != 0 && m.directory && mode&unixType != unixFolder:
		return "it is not a plain file"
	}
	return ""
}

// sizes are the fields that ZIP64 widens.
type sizes struct {
	length, stored, offset uint64
}

// extra reads the extra fields of a header, puts wide fields in the place of
// those that point there (§4.5.3), and says what is wrong with them, or "". A
// second name (§4.6.9) must be the first again.
func (s *sizes) extra(name string, b []byte) string {
	const unicodePath = 0x7075
	seen := false
	// Some tools fill up with fewer bytes than an extra field's header has.
	for len(b) >= 4 {
		id, n := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
		if n > len(b)-4 {
			return "its extra fields are broken"
		}
		field := b[4 : 4+n]
		b = b[4+n:]
		switch id {
		case extraZIP64:
			if seen || !s.widen(field) {
				return "its ZIP64 field is broken"
			}
			seen = true
		case unicodePath:
			if n < 5 || field[0] != 1 || string(field[5:]) != name ||
				binary.LittleEndian.Uint32(field[1:]) != crc32.ChecksumIEEE([]byte(name)) {
				return "it has a second name"
			}
		}
	}
	if !seen && (s.length == max32 || s.stored == max32 || s.offset == max32) {
		return "its ZIP64 field is missing"
	}
	return ""
}

// widen takes from field, in the order of the standard, what does not fit 32
// bits; nothing may be left but the number of a disk, which must be 0.
func (s *sizes) widen(field []byte) bool {
	for _, v := range []*uint64{&s.length, &s.stored, &s.offset} {
		if *v != max32 {
			continue
		}
		if len(field) < 8 {
			return false
		}
		*v = binary.LittleEndian.Uint64(field)
		field = field[8:]
	}
	return len(field) == 0 || len(field) == 4 && binary.LittleEndian.Uint32(field) == 0
}

func depth(path string) int { return 1 + strings.Count(path, "/") }
