package ingest

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"gateway/model"
)

// scanner reads one JSON text (RFC 8259) from the front, without copying. It is
// stricter than encoding/json: fields must be known and spelt exactly, none may
// stand twice, values must have their type, null is no value. Errors are
// [*model.FieldError]s whose field is relative to the value being read.
type scanner struct {
	b       []byte
	i       int
	scratch []byte // for unescaped strings
}

// text is a JSON string where it stands, checked but not yet unescaped.
type text struct {
	raw     []byte // between the quotes; shares the line's memory
	length  int    // in bytes, unescaped
	escaped bool   // raw holds a backslash
	notUTF8 bool   // raw holds bytes that are not UTF-8
	half    bool   // an escape names half of a surrogate pair: it reads as U+FFFD
}

// What a byte is to the scanner of strings; most are plain.
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

func syntaxError(format string, args ...any) error {
	return &model.FieldError{Reason: "is not JSON: " + fmt.Sprintf(format, args...)}
}

// within puts an error of a part below the part's name.
func within(part string, err error) error {
	f, ok := err.(*model.FieldError)
	switch {
	case !ok:
		return err
	case f.Field == "":
		f.Field = part
	case f.Field[0] == '[':
		f.Field = part + f.Field
	default:
		f.Field = part + "." + f.Field
	}
	return err
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// next skips space and returns the byte there, 0 at the end.
func (s *scanner) next() byte {
	s.space()
	if s.i == len(s.b) {
		return 0
	}
	return s.b[s.i]
}

// wrong is the error for a value that is not what it should be.
func (s *scanner) wrong(want string) error {
	var is string
	switch c := s.next(); {
	case s.i == len(s.b):
		return syntaxError("it ends where %s should stand", want)
	case c == '"':
		is = "a string"
	case c == '{':
		is = "an object"
	case c == '[':
		is = "an array"
	case c == '-' || '0' <= c && c <= '9':
		is = "a number"
	case bytes.HasPrefix(s.b[s.i:], []byte("null")):
		return &model.FieldError{Reason: fmt.Sprintf("is null; want %s, or leave the field out", want)}
	case bytes.HasPrefix(s.b[s.i:], []byte("true")), bytes.HasPrefix(s.b[s.i:], []byte("false")):
		is = "a boolean"
	default:
		return syntaxError("%q at byte %d, where %s should stand", c, s.i+1, want)
	}
	return &model.FieldError{Reason: fmt.Sprintf("is %s; want %s", is, want)}
}

// object reads an object whose fields are the given ones. value reads the value
// of fields[k].
func (s *scanner) object(fields []string, value func(k int) error) error {
	if s.next() != '{' {
		return s.wrong("an object")
	}
	s.i++
	if s.next() == '}' {
		s.i++
		return nil
	}
	var seen uint64
	for {
		if s.next() != '"' {
			return syntaxError("a field's name is missing at byte %d", s.i+1)
		}
		name, err := s.text()
		if err != nil {
			return err
		}
		key := s.bytes(name)
		k := fieldIndex(fields, key)
		if k < 0 {
			return &model.FieldError{Field: shorten(string(key)), Reason: "is no field of " + strings.Join(fields, ", ")}
		}
		if seen&(1<<k) != 0 {
			return &model.FieldError{Field: fields[k], Reason: "stands twice"}
		}
		seen |= 1 << k
		if s.next() != ':' {
			return within(fields[k], syntaxError("a colon is missing at byte %d", s.i+1))
		}
		s.i++
		if err := value(k); err != nil {
			return within(fields[k], err)
		}
		switch s.next() {
		case ',':
			s.i++
		case '}':
			s.i++
			return nil
		default:
			return within(fields[k], syntaxError("a comma or } is missing after it, at byte %d", s.i+1))
		}
	}
}

func fieldIndex(fields []string, key []byte) int {
	for k, f := range fields {
		if len(f) == len(key) && f == string(key) {
			return k
		}
	}
	return -1
}

// array reads an array; value reads its item number i, from 0.
func (s *scanner) array(value func(i int) error) error {
	if s.next() != '[' {
		return s.wrong("an array")
	}
	s.i++
	if s.next() == ']' {
		s.i++
		return nil
	}
	for i := 0; ; i++ {
		if err := value(i); err != nil {
			return within(fmt.Sprintf("[%d]", i), err)
		}
		switch s.next() {
		case ',':
			s.i++
		case ']':
			s.i++
			return nil
		default:
			return within(fmt.Sprintf("[%d]", i), syntaxError("a comma or ] is missing after it, at byte %d", s.i+1))
		}
	}
}

// end wants nothing more but space.
func (s *scanner) end() error {
	if s.next(); s.i < len(s.b) {
		return syntaxError("something follows the record, at byte %d", s.i+1)
	}
	return nil
}

func (s *scanner) boolean() (bool, error) {
	c := s.next()
	switch rest := s.b[s.i:]; {
	case c == 't' && bytes.HasPrefix(rest, []byte("true")):
		s.i += len("true")
		return true, nil
	case c == 'f' && bytes.HasPrefix(rest, []byte("false")):
		s.i += len("false")
		return false, nil
	}
	return false, s.wrong("true or false")
}

// length reads a number of bytes: digits, without sign, fraction or exponent.
func (s *scanner) length() (int64, error) {
	const want = "a whole number of bytes"
	c := s.next()
	if c == '-' {
		return 0, &model.FieldError{Reason: "is negative; want " + want}
	}
	if c < '0' || c > '9' {
		return 0, s.wrong(want)
	}
	start := s.i
	var n int64
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		d := int64(s.b[s.i] - '0')
		if n > (math.MaxInt64-d)/10 {
			return 0, &model.FieldError{Reason: "is too large"}
		}
		n = n*10 + d
		s.i++
	}
	if s.b[start] == '0' && s.i > start+1 {
		return 0, syntaxError("a number begins with 0 at byte %d", start+1)
	}
	if s.i < len(s.b) && (s.b[s.i] == '.' || s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		return 0, &model.FieldError{Reason: "is not " + want}
	}
	return n, nil
}

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

// lenient reads a string for people, in which what is no character becomes
// U+FFFD later; replaced tells that some has.
func (s *scanner) lenient() (v string, replaced bool, err error) {
	t, err := s.text()
	if err != nil {
		return "", false, err
	}
	return string(s.bytes(t)), t.half, nil
}

// string reads a string that must be what it says.
func (s *scanner) string() (string, error) {
	t, err := s.text()
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

// shorten keeps a foreign text short and printable enough for a message.
func shorten(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }) {
		return strconv.QuoteToASCII(s)
	}
	return s
}
