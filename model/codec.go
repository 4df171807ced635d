package model

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// bodyVersion is the first byte of an encoded change body. A body once written
// is read for ever: a new version adds a case, it replaces none.
const bodyVersion = 1

// Flags of an encoded resource.
const (
	flagFile = 1 << iota
	flagExternal
	flagDeflated
	flagProfile
	flagHreflang
	flagMD5
	flagSHA256
)

var errBody = errors.New("change body is broken")

// AppendBody appends the part of c that the store keeps in one column: its
// state and what it dropped. docs/format/tables.md draws it byte by byte.
func (c *Change) AppendBody(b []byte) []byte {
	b = append(b, bodyVersion)
	b = appendString(b, c.Title)
	b = appendString(b, c.Summary)
	b = appendString(b, c.Modified)
	b = binary.AppendUvarint(b, uint64(len(c.Collections)))
	for _, s := range c.Collections {
		b = appendString(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Links)))
	for i := range c.Links {
		l := &c.Links[i]
		b = appendString(b, l.Rel)
		b = appendString(b, l.Href)
		b = appendString(b, l.Type)
		b = appendString(b, l.Hreflang)
		b = appendString(b, l.Title)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Resources)))
	for i := range c.Resources {
		b = appendResource(b, &c.Resources[i])
	}
	b = binary.AppendUvarint(b, uint64(len(c.Dropped)))
	for i := range c.Dropped {
		d := &c.Dropped[i]
		var flags byte
		if d.Role == File {
			flags |= flagFile
		}
		if d.External {
			flags |= flagExternal
		}
		b = append(b, flags)
		b = appendString(b, d.Name)
	}
	return b
}

func appendResource(b []byte, r *Resource) []byte {
	var flags byte
	if r.Role == File {
		flags |= flagFile
	}
	if r.External() {
		flags |= flagExternal
	}
	if r.Content.Deflated {
		flags |= flagDeflated
	}
	if r.Profile != "" {
		flags |= flagProfile
	}
	if r.Hreflang != "" {
		flags |= flagHreflang
	}
	if r.Content.MD5 != [16]byte{} {
		flags |= flagMD5
	}
	if r.Content.SHA256 != [32]byte{} {
		flags |= flagSHA256
	}
	b = append(b, flags, byte(r.Kind))
	b = appendString(b, r.Name)
	b = appendString(b, r.Type)
	if r.Profile != "" {
		b = appendString(b, r.Profile)
	}
	if r.Hreflang != "" {
		b = appendString(b, r.Hreflang)
	}
	if r.External() {
		b = appendString(b, r.Href)
	}
	b = binary.AppendUvarint(b, uint64(r.Content.Length+1)) // -1 is unknown
	if flags&flagMD5 != 0 {
		b = append(b, r.Content.MD5[:]...)
	}
	if flags&flagSHA256 != 0 {
		b = append(b, r.Content.SHA256[:]...)
	}
	if !r.External() {
		b = binary.LittleEndian.AppendUint32(b, r.Content.CRC32)
		b = binary.AppendUvarint(b, uint64(r.Content.Stored))
		b = binary.AppendUvarint(b, uint64(r.Key))
	}
	b = binary.AppendUvarint(b, uint64(r.Position))
	return binary.AppendUvarint(b, uint64(r.Time))
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// ParseBody fills the state and the dropped names of c from body, which
// AppendBody made, and leaves the other fields. Its strings share body's memory
// and the slices of c are reused. Bytes that no AppendBody made yield an error
// and leave c undefined; they never panic.
func (c *Change) ParseBody(body string) error {
	d := bodyReader{rest: body}
	if v := d.byte(); v != bodyVersion && d.err == nil {
		return fmt.Errorf("change body has version %d, this gateway reads %d", v, bodyVersion)
	}
	c.Title = d.string()
	c.Summary = d.string()
	c.Modified = d.string()
	c.Collections = c.Collections[:0]
	for n := d.count(1); n > 0; n-- {
		c.Collections = append(c.Collections, d.string())
	}
	c.Links = c.Links[:0]
	for n := d.count(5); n > 0; n-- {
		c.Links = append(c.Links, Link{Rel: d.string(), Href: d.string(), Type: d.string(), Hreflang: d.string(), Title: d.string()})
	}
	c.Resources = c.Resources[:0]
	for n := d.count(7); n > 0; n-- {
		c.Resources = append(c.Resources, d.resource())
	}
	c.Dropped = c.Dropped[:0]
	for n := d.count(2); n > 0; n-- {
		flags := d.byte()
		c.Dropped = append(c.Dropped, Dropped{Name: d.string(), Role: roleOf(flags), External: flags&flagExternal != 0})
	}
	if d.err == nil && d.rest != "" {
		d.err = errBody
	}
	return d.err
}

func roleOf(flags byte) Role {
	if flags&flagFile != 0 {
		return File
	}
	return Representation
}

// bodyReader takes values off the front of rest; after the first mistake it
// yields zeros and keeps err.
type bodyReader struct {
	rest string
	err  error
}

func (d *bodyReader) fail() {
	d.err, d.rest = errBody, ""
}

func (d *bodyReader) byte() byte {
	if d.rest == "" {
		d.fail()
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *bodyReader) uvarint() uint64 {
	var v uint64
	for i := range len(d.rest) {
		b := d.rest[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.rest = d.rest[i+1:]
			return v
		}
	}
	d.fail()
	return 0
}

// count reads the number of items that follow, each of at least size bytes, so
// that a broken number cannot ask for more memory than the body has bytes.
func (d *bodyReader) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.rest)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *bodyReader) take(n uint64) string {
	if n > uint64(len(d.rest)) {
		d.fail()
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *bodyReader) string() string { return d.take(d.uvarint()) }

func (d *bodyReader) resource() Resource {
	flags := d.byte()
	r := Resource{Role: roleOf(flags), Kind: Kind(d.byte()), Name: d.string(), Type: d.string()}
	if flags&flagProfile != 0 {
		r.Profile = d.string()
	}
	if flags&flagHreflang != 0 {
		r.Hreflang = d.string()
	}
	if flags&flagExternal != 0 {
		r.Href = d.string()
	}
	r.Content.Length = int64(d.uvarint()) - 1
	if flags&flagMD5 != 0 {
		copy(r.Content.MD5[:], d.take(16))
	}
	if flags&flagSHA256 != 0 {
		copy(r.Content.SHA256[:], d.take(32))
	}
	if flags&flagExternal == 0 {
		r.Content.Deflated = flags&flagDeflated != 0
		if crc := d.take(4); len(crc) == 4 {
			r.Content.CRC32 = uint32(crc[0]) | uint32(crc[1])<<8 | uint32(crc[2])<<16 | uint32(crc[3])<<24
		}
		r.Content.Stored = int64(d.uvarint())
		r.Key = ContentKey(d.uvarint())
	}
	r.Position = Position(d.uvarint())
	r.Time = Time(d.uvarint())
	return r
}
