package dump

import (
	"encoding/binary"
	"math"
	"time"

	"gateway/model"
)

// Numbers of the ZIP format (APPNOTE.TXT 6.3.10); section numbers below are its.
const (
	localSignature     = 0x04034b50
	centralSignature   = 0x02014b50
	endSignature       = 0x06054b50
	end64Signature     = 0x06064b50
	locator64Signature = 0x07064b50

	localFixed   = 30
	centralFixed = 46
	endFixed     = 22
	end64Fixed   = 56
	locatorFixed = 20

	methodStored  = 0
	methodDeflate = 8

	flagUTF8 = 1 << 11

	extraZIP64 = 0x0001
	extraTime  = 0x5455 // "UT", Info-ZIP's extended timestamp

	// Sizes, offsets and counts from here on are in ZIP64 fields (§4.4.1.4).
	max32 = math.MaxUint32
	max16 = math.MaxUint16

	versionDeflate = 20 // to extract (§4.4.3.2)
	versionZIP64   = 45
	madeOnUnix     = 3<<8 | versionZIP64
	regularFile    = 0o100644 << 16 // external attributes

	timeExtraSize = 4 + 1 + 4
)

// large tells whether the sizes of member i need ZIP64 fields. Both go there
// when one does, as the local header wants it (§4.5.3).
func (x *Index) large(i int) bool {
	return x.members[i].length >= max32 || x.stored(i) >= max32
}

// localSize is the length of member i's local header.
func (x *Index) localSize(i int) int {
	n := localFixed + len(x.name(i))
	if x.large(i) {
		n += 4 + 16
	}
	if hasTimeExtra(x.members[i].time) {
		n += timeExtraSize
	}
	return n
}

// maxLocal is the greatest length of a local header.
const maxLocal = localFixed + maxName + 4 + 16 + timeExtraSize

// appendLocal appends the local header of member i (§4.3.7). The sizes are in it,
// so no data descriptor follows the content.
func (x *Index) appendLocal(b []byte, i int) []byte {
	m := &x.members[i]
	large := x.large(i)
	b = binary.LittleEndian.AppendUint32(b, localSignature)
	b = x.appendCommon(b, i, large)
	extra := 0
	if large {
		extra += 4 + 16
	}
	if hasTimeExtra(m.time) {
		extra += timeExtraSize
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(extra))
	b = append(b, x.name(i)...)
	if large {
		b = binary.LittleEndian.AppendUint16(b, extraZIP64)
		b = binary.LittleEndian.AppendUint16(b, 16)
		b = binary.LittleEndian.AppendUint64(b, uint64(m.length))
		b = binary.LittleEndian.AppendUint64(b, uint64(x.stored(i)))
	}
	return appendTimeExtra(b, m.time)
}

// appendCommon appends what local and central headers have in common: from the
// version needed to the length of the name.
func (x *Index) appendCommon(b []byte, i int, zip64 bool) []byte {
	m := &x.members[i]
	version, method := uint16(versionDeflate), uint16(methodStored)
	if zip64 {
		version = versionZIP64
	}
	if m.deflated {
		method = methodDeflate
	}
	stored, length := uint32(max32), uint32(max32)
	if !x.large(i) {
		stored, length = uint32(x.stored(i)), uint32(m.length)
	}
	clock, date := dosTime(m.time)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = binary.LittleEndian.AppendUint16(b, flagUTF8)
	b = binary.LittleEndian.AppendUint16(b, method)
	b = binary.LittleEndian.AppendUint16(b, clock)
	b = binary.LittleEndian.AppendUint16(b, date)
	b = binary.LittleEndian.AppendUint32(b, m.crc)
	b = binary.LittleEndian.AppendUint32(b, stored)
	b = binary.LittleEndian.AppendUint32(b, length)
	return binary.LittleEndian.AppendUint16(b, uint16(len(x.name(i))))
}

// centralExtra is the length of the extra fields of member i's central header.
func (x *Index) centralExtra(i int) int {
	n := 0
	if x.large(i) {
		n += 16
	}
	if x.members[i].offset >= max32 {
		n += 8
	}
	if n > 0 {
		n += 4
	}
	if hasTimeExtra(x.members[i].time) {
		n += timeExtraSize
	}
	return n
}

// centralSize is the length of member i's central header.
func (x *Index) centralSize(i int) int {
	return centralFixed + len(x.name(i)) + x.centralExtra(i)
}

// maxCentral is the greatest length of a central header.
const maxCentral = centralFixed + maxName + 4 + 24 + timeExtraSize

// appendCentral appends the central header of member i (§4.3.12).
func (x *Index) appendCentral(b []byte, i int) []byte {
	m := &x.members[i]
	large, far := x.large(i), m.offset >= max32
	b = binary.LittleEndian.AppendUint32(b, centralSignature)
	b = binary.LittleEndian.AppendUint16(b, madeOnUnix)
	b = x.appendCommon(b, i, large || far)
	b = binary.LittleEndian.AppendUint16(b, uint16(x.centralExtra(i)))
	b = append(b, 0, 0, 0, 0, 0, 0) // no comment, disk 0, no internal attributes
	b = binary.LittleEndian.AppendUint32(b, regularFile)
	b = binary.LittleEndian.AppendUint32(b, uint32(min(m.offset, max32)))
	b = append(b, x.name(i)...)
	if large || far {
		b = binary.LittleEndian.AppendUint16(b, extraZIP64)
		size := len(b)
		b = append(b, 0, 0)
		if large {
			b = binary.LittleEndian.AppendUint64(b, uint64(m.length))
			b = binary.LittleEndian.AppendUint64(b, uint64(x.stored(i)))
		}
		if far {
			b = binary.LittleEndian.AppendUint64(b, uint64(m.offset))
		}
		binary.LittleEndian.PutUint16(b[size:], uint16(len(b)-size-2))
	}
	return appendTimeExtra(b, m.time)
}

// end64 tells whether the package ends in ZIP64 records.
func (x *Index) end64() bool {
	return len(x.members) >= max16 || x.directory >= max32 || x.offset >= max32
}

// endSize is the length of what follows the central directory.
func (x *Index) endSize() int {
	if x.end64() {
		return end64Fixed + locatorFixed + endFixed
	}
	return endFixed
}

// appendEnd appends what follows the central directory (§4.3.14–16).
func (x *Index) appendEnd(b []byte) []byte {
	if x.end64() {
		b = binary.LittleEndian.AppendUint32(b, end64Signature)
		b = binary.LittleEndian.AppendUint64(b, end64Fixed-12) // of what follows
		b = binary.LittleEndian.AppendUint16(b, madeOnUnix)
		b = binary.LittleEndian.AppendUint16(b, versionZIP64)
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0) // disk 0, directory on disk 0
		b = binary.LittleEndian.AppendUint64(b, uint64(len(x.members)))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(x.members)))
		b = binary.LittleEndian.AppendUint64(b, uint64(x.directory))
		b = binary.LittleEndian.AppendUint64(b, uint64(x.offset))
		b = binary.LittleEndian.AppendUint32(b, locator64Signature)
		b = append(b, 0, 0, 0, 0)
		b = binary.LittleEndian.AppendUint64(b, uint64(x.offset+x.directory))
		b = append(b, 1, 0, 0, 0) // disks
	}
	b = binary.LittleEndian.AppendUint32(b, endSignature)
	b = append(b, 0, 0, 0, 0)
	count := uint16(min(len(x.members), max16))
	b = binary.LittleEndian.AppendUint16(b, count)
	b = binary.LittleEndian.AppendUint16(b, count)
	b = binary.LittleEndian.AppendUint32(b, uint32(min(x.directory, max32)))
	b = binary.LittleEndian.AppendUint32(b, uint32(min(x.offset, max32)))
	return append(b, 0, 0) // no comment
}

// dosTime is t in UTC as the format has it (§4.4.6): to two seconds, cut, and
// within 1980–2107.
func dosTime(t model.Time) (clock, date uint16) {
	at := t.Time()
	switch year := at.Year(); {
	case year < 1980:
		at = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	case year > 2107:
		at = time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC)
	}
	year, month, day := at.Date()
	hour, minute, second := at.Clock()
	return uint16(hour<<11 | minute<<5 | second/2), uint16((year-1980)<<9 | int(month)<<5 | day)
}

// hasTimeExtra tells whether t fits an extended timestamp, which has seconds and
// says that they are UTC: from 1970 to January 2038.
func hasTimeExtra(t model.Time) bool { return t >= 0 && t < (math.MaxInt32+1)*1_000_000 }

func appendTimeExtra(b []byte, t model.Time) []byte {
	if !hasTimeExtra(t) {
		return b
	}
	b = binary.LittleEndian.AppendUint16(b, extraTime)
	b = binary.LittleEndian.AppendUint16(b, timeExtraSize-4)
	b = append(b, 1) // of modification
	return binary.LittleEndian.AppendUint32(b, uint32(t/1_000_000))
}
