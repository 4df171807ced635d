package ingest

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
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
		var key []byte
		if key = name.raw; name.length <= maxText {
			key = s.bytes(name)
		}
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

// Bounds that keep a line from taking many times its length in memory. What a
// record may have is less; [model.Record.Validate] says so.
const (
	maxItems = 1000    // of an array
	maxText  = 1 << 20 // bytes of a string other than content
)

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
		if i == maxItems {
			return &model.FieldError{Reason: fmt.Sprintf("has more than %d items", maxItems)}
		}
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
