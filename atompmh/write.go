package atompmh

import (
	"strconv"
	"unicode/utf8"

	"gateway/model"
)

// The writer appends to a byte slice and allocates nothing of its own. Its
// escaping is that of encoding/xml, byte for byte; a fuzz test holds the two
// together.

const declaration = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// appendEscaped appends s as character data or as the value of an attribute in
// double quotes. Tabs and line breaks become references, because a parser would
// change them in an attribute (XML 1.0 §3.3.3). What XML cannot carry becomes
// U+FFFD.
func appendEscaped(b []byte, s string) []byte {
	done := 0 // s[:done] is appended
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			if c >= 64 || uint64(special)>>c&1 == 0 {
				continue
			}
			b = append(b, s[done:i-1]...)
			b = append(b, reference(c)...)
			done = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if r == utf8.RuneError && size == 1 || r == 0xFFFE || r == 0xFFFF {
			b = append(b, s[done:i-size]...)
			b = append(b, "\uFFFD"...)
			done = i
		}
	}
	return append(b, s[done:]...)
}

// special has a bit for each character below 64 that does not stand for itself;
// all ASCII characters above do.
const special = 1<<' ' - 1 | 1<<'"' | 1<<'&' | 1<<'\'' | 1<<'<' | 1<<'>'

func reference(c byte) string {
	switch c {
	case '"':
		return "&#34;"
	case '\'':
		return "&#39;"
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '\t':
		return "&#x9;"
	case '\n':
		return "&#xA;"
	case '\r':
		return "&#xD;"
	}
	return "\uFFFD"
}

// appendElement appends an element that holds text; open and end are its tags
// with the white space around them.
func appendElement(b []byte, open, text, end string) []byte {
	b = append(b, open...)
	b = appendEscaped(b, text)
	return append(b, end...)
}

// appendAttribute appends an attribute unless its value is empty.
func appendAttribute(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, ' ')
	b = append(b, name...)
	b = append(b, '=', '"')
	b = appendEscaped(b, value)
	return append(b, '"')
}

// appendUpdated appends an atom:updated element (RFC 4287 §4.2.15).
func appendUpdated(b []byte, indent string, t model.Time) []byte {
	b = append(b, indent...)
	b = append(b, "<updated>"...)
	b = t.Append(b)
	return append(b, "</updated>\n"...)
}

// appendMediaType appends the type attribute of a link to r: its
// [model.Resource.MediaType], without making that string.
func appendMediaType(b []byte, r *model.Resource) []byte {
	b = append(b, ` type="`...)
	b = appendEscaped(b, r.Type)
	if r.Profile != "" {
		b = append(b, "; profile=&#34;"...)
		b = appendEscaped(b, r.Profile)
		b = append(b, "&#34;"...)
	}
	return append(b, '"')
}

func appendLength(b []byte, length int64) []byte {
	b = append(b, ` length="`...)
	b = strconv.AppendInt(b, length, 10)
	return append(b, '"')
}
