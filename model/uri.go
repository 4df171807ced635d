package model

import (
	"net/url"
	"strconv"
	"strings"
)

// MaxBaseURL is the greatest length of a base URL in bytes. [Bound] counts on
// it, so that a rebase never makes a document too large.
const MaxBaseURL = 200

// AppendRecordURI appends the URI of a record: base, /r/, set, number. Its
// representations are negotiated there.
func AppendRecordURI(b []byte, base, set string, number RecordNumber) []byte {
	b = append(b, base...)
	b = append(b, "/r/"...)
	b = append(b, set...)
	b = append(b, '/')
	return strconv.AppendInt(b, int64(number), 10)
}

// AppendResourceURI appends the permanent URI of one resource. Everything but
// unreserved characters (RFC 3986 §2.3) is percent-encoded in the name, so the
// result needs no escaping in XML, HTML or HTTP.
func AppendResourceURI(b []byte, base, set string, number RecordNumber, name string) []byte {
	b = AppendRecordURI(b, base, set, number)
	b = append(b, '/')
	return AppendPathSegment(b, name)
}

// ParseResourceURI is the inverse of [AppendResourceURI] for the resources of one
// set. Only the very URI that AppendResourceURI makes is one; others are
// [ErrNotFound].
func ParseResourceURI(uri, base, set string) (number RecordNumber, name string, err error) {
	rest, ok := strings.CutPrefix(uri, base+"/r/"+set+"/")
	if !ok {
		return 0, "", ErrNotFound
	}
	digits, segment, _ := strings.Cut(rest, "/")
	if number, err = ParseRecordNumber(digits); err != nil {
		return 0, "", err
	}
	name, err = url.PathUnescape(segment)
	if err != nil || name == "" || string(AppendPathSegment(nil, name)) != segment {
		return 0, "", ErrNotFound
	}
	return number, name, nil
}

// AppendPathSegment appends s percent-encoded but for unreserved characters.
func AppendPathSegment(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_', c == '~':
			b = append(b, c)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return b
}

// ParseRecordNumber reads a record number as it stands in a URI: decimal digits
// without sign or leading zero.
func ParseRecordNumber(s string) (RecordNumber, error) {
	n, err := parseNumber(s)
	return RecordNumber(n), err
}

func parseNumber(s string) (int64, error) {
	if s == "" || s[0] < '1' || s[0] > '9' || strings.TrimLeft(s, "0123456789") != "" {
		return 0, ErrNotFound
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, ErrNotFound
	}
	return n, nil
}

// ParseNumber reads a number of a path, such as an epoch, segment or part, by
// the rules of [ParseRecordNumber].
func ParseNumber[T ~int64](s string) (T, error) {
	n, err := parseNumber(s)
	return T(n), err
}
