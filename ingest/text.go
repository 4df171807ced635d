package ingest

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"gateway/model"
)

// text is a JSON string where it stands, checked but not yet unescaped.
type text struct {
	raw     []byte // between the quotes; shares the line's memory
	length  int    // in bytes, unescaped
	escaped bool   // raw holds a backslash
	notUTF8 bool   // raw holds bytes that are not UTF-8
	half    bool   // an escape names half of a surrogate pair: it reads as U+FFFD
}

// What a byte is to the reader of strings; most are plain.
const (
	plain = iota
	quote
	backslash
	control
)

// stringBytes maps bytes to what they are in a string.
var stringBytes = func() (t [256]uint8) {
	for c := range ' ' {
		t[c] = control
	}
	t['"'], t['\\'] = quote, backslash
	return t
}()

// text reads a string.
func (s *scanner) text() (text, error) {
	if s.next() != '"' {
		return text{}, s.wrong("a string")
	}
	s.i++
	var t text
	b, start, i := s.b, s.i, s.i
	var high byte
	for i < len(b) {
		c := b[i]
		switch stringBytes[c] {
		case plain:
			high |= c
			i++
		case quote:
			t.raw = b[start:i]
			t.length += len(t.raw)
			t.notUTF8 = high >= utf8.RuneSelf && !utf8.Valid(t.raw)
			s.i = i + 1
			return t, nil
		case backslash:
			size, yields, half := escape(b[i:])
			if size == 0 {
				return text{}, syntaxError("unknown escape in a string, at byte %d", i+1)
			}
			t.escaped, t.half = true, t.half || half
			t.length -= size - yields
			i += size
		default:
			return text{}, syntaxError("the control character U+%04X stands unescaped in a string, at byte %d", c, i+1)
		}
	}
	return text{}, syntaxError("the string that begins at byte %d does not end", start)
}

// escape measures the escape sequence at the front of b: its size, how many
// bytes it yields, and whether it is half of a surrogate pair. Size 0 is none.
func escape(b []byte) (size, yields int, half bool) {
	if len(b) < 2 {
		return 0, 0, false
	}
	if b[1] != 'u' {
		if unescaped(b[1]) == 0 {
			return 0, 0, false
		}
		return 2, 1, false
	}
	r, size := unicodeEscape(b)
	switch {
	case size == 0:
		return 0, 0, false
	case utf16.IsSurrogate(r):
		return size, 3, true
	}
	return size, utf8.RuneLen(r), false
}

// unescaped is the byte that a backslash and c stand for, or 0.
func unescaped(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// unicodeEscape reads \uXXXX, or two of them that make a pair. A surrogate
// returned is half a pair. Size 0 is a mistake.
func unicodeEscape(b []byte) (r rune, size int) {
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low, ok := hex4(b[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return r, 6
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unescape appends what raw, the inside of a string, stands for, until dst has
// most bytes or a few more, and returns what is left of raw.
func unescape(dst, raw []byte, most int) (_, rest []byte) {
	for len(raw) > 0 && len(dst) < most {
		run := bytes.IndexByte(raw, '\\')
		if run < 0 {
			run = len(raw)
		}
		run = min(run, most-len(dst))
		dst, raw = append(dst, raw[:run]...), raw[run:]
		if len(raw) == 0 || raw[0] != '\\' {
			continue
		}
		if raw[1] != 'u' {
			dst, raw = append(dst, unescaped(raw[1])), raw[2:]
			continue
		}
		r, size := unicodeEscape(raw)
		dst, raw = utf8.AppendRune(dst, r), raw[size:] // half a pair becomes U+FFFD
	}
	return dst, raw
}

// bytes is what t stands for, until the next call.
func (s *scanner) bytes(t text) []byte {
	if !t.escaped {
		return t.raw
	}
	s.scratch, _ = unescape(s.scratch[:0], t.raw, math.MaxInt)
	return s.scratch
}

// shortText reads a string that is no content.
func (s *scanner) shortText() (text, error) {
	t, err := s.text()
	if err == nil && t.length > maxText {
		err = &model.FieldError{Reason: fmt.Sprintf("has %d bytes; no text but content has more than %d", t.length, maxText)}
	}
	return t, err
}

// lenient reads a string for people, in which what is no character becomes
// U+FFFD later; replaced tells that some has.
func (s *scanner) lenient() (v string, replaced bool, err error) {
	t, err := s.shortText()
	if err != nil {
		return "", false, err
	}
	return string(s.bytes(t)), t.half, nil
}

// string reads a string that must be what it says.
func (s *scanner) string() (string, error) {
	t, err := s.shortText()
	if err != nil {
		return "", err
	}
	if err := t.whole(); err != nil {
		return "", err
	}
	return string(s.bytes(t)), nil
}

// whole refuses a string that UTF-8 cannot carry as it is.
func (t *text) whole() error {
	switch {
	case t.notUTF8:
		return &model.FieldError{Reason: "is not UTF-8"}
	case t.half:
		return &model.FieldError{Reason: "an escape names half of a surrogate pair, which is no character"}
	}
	return nil
}

// unescaper reads what the inside of a JSON string stands for, a piece at a time.
type unescaper struct {
	raw     []byte
	buf     []byte
	pending []byte
}

const unescapeSize = 32 << 10

// Read implements [io.Reader].
func (u *unescaper) Read(p []byte) (int, error) {
	if len(u.pending) == 0 {
		if len(u.raw) == 0 {
			return 0, io.EOF
		}
		u.buf, u.raw = unescape(u.buf[:0], u.raw, unescapeSize)
		u.pending = u.buf
	}
	n := copy(p, u.pending)
	u.pending = u.pending[n:]
	return n, nil
}

// reader yields what t stands for.
func (t *text) reader() io.Reader {
	if !t.escaped {
		return bytes.NewReader(t.raw)
	}
	return &unescaper{raw: t.raw}
}
