package sitemap

import (
	"encoding/binary"
	"unicode/utf8"
)

// appendText appends s escaped, alike for text and for attributes in double
// quotes. Tab, newline and carriage return become character references, because
// a parser would turn them into blanks in an attribute (XML 1.0 §3.3.3), and a
// carriage return into a newline anywhere (§2.11).
func appendText[T ~string | ~[]byte](b []byte, s T) []byte {
	n := len(b)
	b = append(b, s...)
	if plain(b[n:]) {
		return b
	}
	return appendEscaped(b[:n], s)
}

// plain tells whether s stands for itself: ASCII without control characters and
// without the four characters that XML gives a meaning to. It looks at eight
// bytes at a time; a set top bit in one of the terms is a byte that is not
// plain.
func plain(s []byte) bool {
	const (
		each  = 0x0101010101010101
		top   = 0x80 * each
		blank = ' ' * each
		// With one bit set both '<' and '>' are '>', and '"' and '&' are '&'.
		angleBit, angle = ('<' ^ '>') * each, '>' * each
		quoteBit, quote = ('"' ^ '&') * each, '&' * each
	)
	for ; len(s) >= 8; s = s[8:] {
		w := binary.LittleEndian.Uint64(s)
		a := (w | angleBit) ^ angle
		q := (w | quoteBit) ^ quote
		if (w|(w-blank)&^w|(a-each)&^a|(q-each)&^q)&top != 0 {
			return false
		}
	}
	for _, c := range s {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '&' || c == '<' || c == '>' {
			return false
		}
	}
	return true
}

func appendEscaped[T ~string | ~[]byte](b []byte, s T) []byte {
	done := 0
	for i := 0; i < len(s); {
		escape, size := escapeAt(s, i)
		if escape != "" {
			b = append(b, s[done:i]...)
			b = append(b, escape...)
			done = i + size
		}
		i += size
	}
	return append(b, s[done:]...)
}

// escapeAt is what stands for the character at s[i], and how many bytes of s it
// replaces; "" leaves them as they are.
func escapeAt[T ~string | ~[]byte](s T, i int) (escape string, size int) {
	switch s[i] {
	case '&':
		return "&amp;", 1
	case '<':
		return "&lt;", 1
	case '>':
		return "&gt;", 1
	case '"':
		return "&quot;", 1
	case '\t':
		return "&#x9;", 1
	case '\n':
		return "&#xA;", 1
	case '\r':
		return "&#xD;", 1
	}
	if s[i] >= ' ' && s[i] < utf8.RuneSelf {
		return "", 1
	}
	r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
	if r < ' ' || r == utf8.RuneError && size == 1 || r == 0xFFFE || r == 0xFFFF {
		return "\uFFFD", size
	}
	return "", size
}
