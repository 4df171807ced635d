package httpx

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
)

// maxRanges is how many ranges one request can have; more are answered by the
// whole (RFC 9110 §14.2 lets a server defend itself).
const maxRanges = 64

// span is the bytes from start up to, but not including, end.
type span struct{ start, end int64 }

func (s span) length() int64 { return s.end - s.start }

// contentRange is the value of Content-Range (RFC 9110 §14.4).
func (s span) contentRange(size int64) string {
	return "bytes " + strconv.FormatInt(s.start, 10) + "-" + strconv.FormatInt(s.end-1, 10) + "/" + strconv.FormatInt(size, 10)
}

// spansOf reads the Range header of a GET for a body of size bytes. None and ok
// means the whole body: there is no range, it is malformed or in another unit, or
// it is one that would cost too much. Ranges are served in rising order only and
// without overlap, so that a body that must be inflated is inflated once at most.
// ok is false when all ranges lie outside (416). An empty body has no ranges:
// clients that add one to every request shall get it.
func spansOf(r *http.Request, size int64) (spans []span, ok bool) {
	lines := r.Header["Range"]
	if len(lines) != 1 || r.Method != http.MethodGet || size == 0 {
		return nil, true
	}
	unit, set, _ := strings.Cut(lines[0], "=")
	if !strings.EqualFold(strings.TrimSpace(unit), "bytes") || strings.Count(set, ",") >= maxRanges {
		return nil, true
	}
	given := false
	for item := range Items([]string{set}) {
		s, valid := parseSpan(item, size)
		if !valid {
			return nil, true
		}
		given = true
		if s.start >= size || s.length() <= 0 {
			continue
		}
		if n := len(spans); n > 0 && s.start < spans[n-1].end {
			return nil, true
		}
		spans = append(spans, s)
	}
	return spans, len(spans) > 0 || !given
}

// parseSpan reads "first-last", "first-" or "-suffix" (RFC 9110 §14.1.1).
func parseSpan(s string, size int64) (span, bool) {
	first, last, dash := strings.Cut(s, "-")
	switch {
	case !dash:
		return span{}, false
	case first == "":
		n, ok := parsePosition(last)
		return span{max(size-n, 0), size}, ok
	}
	start, ok := parsePosition(first)
	if !ok || last == "" {
		return span{start, size}, ok
	}
	end, ok := parsePosition(last)
	if end < start {
		return span{}, false
	}
	return span{start, min(end, size-1) + 1}, ok
}

// parsePosition reads decimal digits. Numbers beyond any size count as such.
func parsePosition(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	const beyond = 1 << 60
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > beyond {
		return beyond, true
	}
	return n, true
}

// byteranges is a body of several ranges (RFC 9110 §14.6): before each of them
// stands its heading, and the closing line after the last.
type byteranges struct {
	spans    []span
	headings []string
	closing  string
	boundary string
}

func newByteranges(spans []span, mediaType string, size int64) *byteranges {
	m := &byteranges{spans: spans, boundary: rand.Text()}
	before := "--"
	for _, s := range spans {
		m.headings = append(m.headings, before+m.boundary+"\r\nContent-Type: "+mediaType+
			"\r\nContent-Range: "+s.contentRange(size)+"\r\n\r\n")
		before = "\r\n--"
	}
	m.closing = "\r\n--" + m.boundary + "--\r\n"
	return m
}

func (m *byteranges) length() int64 {
	n := int64(len(m.closing))
	for i, s := range m.spans {
		n += int64(len(m.headings[i])) + s.length()
	}
	return n
}
