package dump

import (
	"encoding/binary"
	"io"
)

// checkLocals reads the local header and the data descriptor of each member,
// which are in the order in which they lie, sees that they say what the
// directory says and lie one after the other without gap or overlap up to the
// directory, and finds where the data begin.
func checkLocals(r io.ReaderAt, members []Member, directory int64) error {
	at := int64(0)
	var buf []byte
	for i := range members {
		m := &members[i]
		if m.offset != at {
			return refuse(m.Name, "it begins at %d, where %d would follow on what is before it", m.offset, at)
		}
		next := directory
		if i+1 < len(members) {
			next = members[i+1].offset
		}
		if next < at {
			return refuse(m.Name, "it reaches into the directory")
		}
		room := next - at
		var err error
		if buf, err = m.readLocal(r, buf, room); err != nil {
			return err
		}
		after := m.data + m.stored // both below 2^62
		if after > next {
			return refuse(m.Name, "it overlaps with what follows")
		}
		if err := m.readDescriptor(r, after, next-after); err != nil {
			return err
		}
		at = next
	}
	if at != directory {
		return refuse("", "something that is no member stands before its directory")
	}
	return nil
}

// readLocal reads the local header of m (§4.3.7), of which no more than room
// bytes are there. It returns buf, grown perhaps.
func (m *Member) readLocal(r io.ReaderAt, buf []byte, room int64) ([]byte, error) {
	name := m.Name
	if m.directory {
		name += "/"
	}
	const usualExtra = 32
	first := int(min(room, int64(localFixed+len(name)+usualExtra)))
	if first < localFixed {
		return buf, refuse(m.Name, "there is no room for its local header")
	}
	buf = append(buf[:0], make([]byte, first)...)
	if err := readFull(r, buf, m.offset); err != nil {
		return buf, err
	}
	if binary.LittleEndian.Uint32(buf) != localSignature {
		return buf, refuse(m.Name, "it has no local header")
	}
	nameLen, extraLen := int(binary.LittleEndian.Uint16(buf[26:])), int(binary.LittleEndian.Uint16(buf[28:]))
	whole := localFixed + nameLen + extraLen
	if nameLen != len(name) || int64(whole) > room {
		return buf, refuse(m.Name, "its local header disagrees with the directory")
	}
	if whole > first {
		buf = append(buf, make([]byte, whole-first)...)
		if err := readFull(r, buf[first:], m.offset+int64(first)); err != nil {
			return buf, err
		}
	}
	m.data = m.offset + int64(whole)
	return buf, m.compareLocal(buf[:whole], name)
}

// compareLocal holds a local header against the directory. One that leaves sums
// to a data descriptor may have zeros in their place, in one or all.
func (m *Member) compareLocal(h []byte, name string) error {
	s := sizes{
		stored: uint64(binary.LittleEndian.Uint32(h[18:])),
		length: uint64(binary.LittleEndian.Uint32(h[22:])),
	}
	if reason := s.extra(name, h[localFixed+len(name):]); reason != "" {
		return refuse(m.Name, "%s", reason)
	}
	later := m.flags&flagDescriptor != 0
	same := func(local, central uint64) bool { return local == central || later && local == 0 }
	if !same(uint64(binary.LittleEndian.Uint32(h[14:])), uint64(m.crc)) ||
		!same(s.stored, uint64(m.stored)) || !same(s.length, uint64(m.Length)) ||
		string(h[localFixed:localFixed+len(name)]) != name ||
		binary.LittleEndian.Uint16(h[6:]) != m.flags || binary.LittleEndian.Uint16(h[8:]) != m.method {
		return refuse(m.Name, "its local header disagrees with the directory")
	}
	return nil
}

// readDescriptor reads the n bytes at at, between the data of m and what
// follows: nothing, or a data descriptor (§4.3.9) where one is announced, with
// or without a signature, its sizes of four or eight bytes.
func (m *Member) readDescriptor(r io.ReaderAt, at, n int64) error {
	if m.flags&flagDescriptor == 0 {
		if n != 0 {
			return refuse(m.Name, "%d bytes that are no member follow it", n)
		}
		return nil
	}
	if n != 12 && n != 16 && n != 20 && n != 24 {
		return refuse(m.Name, "its data descriptor has %d bytes", n)
	}
	var d [24]byte
	if err := readFull(r, d[:n], at); err != nil {
		return err
	}
	const signature = 0x08074b50
	b := d[:n]
	if n == 16 || n == 24 {
		if binary.LittleEndian.Uint32(b) != signature {
			return refuse(m.Name, "its data descriptor is broken")
		}
		b = b[4:]
	}
	crc := binary.LittleEndian.Uint32(b)
	var stored, length uint64
	if len(b) == 12 {
		stored, length = uint64(binary.LittleEndian.Uint32(b[4:])), uint64(binary.LittleEndian.Uint32(b[8:]))
	} else {
		stored, length = binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint64(b[12:])
	}
	if crc != m.crc || stored != uint64(m.stored) || length != uint64(m.Length) {
		return refuse(m.Name, "its data descriptor disagrees with the directory")
	}
	return nil
}
