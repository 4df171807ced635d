package httpx

import (
	"iter"
	"net/http"
	"strings"
)

// Content codings that bodies are sent in.
const (
	identity  = ""
	gzipped   = "gzip"
	zstandard = "zstd"
)

// offer is the codings there are of a body, besides identity.
type offer struct{ gzip, zstd bool }

// String names them for the client that accepts none.
func (o offer) String() string {
	names := "identity"
	if o.gzip {
		names += ", gzip"
	}
	if o.zstd {
		names += ", zstd"
	}
	return names
}

// refused is the problem of a request that accepts no coding of o.
func (o offer) refused() *Problem {
	return NotAcceptable("no content coding that the request accepts; offered: "+o.String(), nil)
}

// coding chooses the content coding of an answer (RFC 9110 §12.5.3): the one the
// client likes best, and of equals the smallest. ok is false when it accepts none
// of those there are. Nobody gets a coding who did not name it, except when
// identity is refused: clients exist that send "*" and unpack nothing.
func coding(h http.Header, o offer) (chosen string, ok bool) {
	const unnamed = -1
	gzip, zstd, plain, star := unnamed, unnamed, unnamed, unnamed
	for item := range Items(h["Accept-Encoding"]) {
		name, params, _ := strings.Cut(item, ";")
		q, ok := Quality(params)
		if !ok {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			gzip = max(gzip, q)
		case "zstd":
			zstd = max(zstd, q)
		case "identity":
			plain = max(plain, q)
		case "*":
			star = max(star, q)
		}
	}
	if plain == unnamed {
		plain = star
	}
	if plain == 0 && gzip == unnamed {
		gzip = star
	}
	if plain == 0 && zstd == unnamed {
		zstd = star
	}
	best := max(plain, 0)
	ok = plain != 0
	if o.gzip && gzip > 0 && gzip >= best {
		chosen, ok, best = gzipped, true, gzip
	}
	if o.zstd && zstd > 0 && zstd >= best {
		chosen, ok = zstandard, true
	}
	return chosen, ok
}

// Items yields the members of a list that may be spread over several header
// lines (RFC 9110 §5.6.1). Commas in quoted strings do not part members.
func Items(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range lines {
			for line != "" {
				var item string
				item, line = member(line)
				if item != "" && !yield(item) {
					return
				}
			}
		}
	}
}

func member(line string) (item, rest string) {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return strings.Trim(line[:i], " \t"), line[i+1:]
		}
	}
	return strings.Trim(line, " \t"), ""
}

// Quality reads the weight among parameters in thousandths; without one it is
// 1,000 (RFC 9110 §12.4.2).
func Quality(params string) (q int, ok bool) {
	for params != "" {
		var p string
		p, params, _ = strings.Cut(params, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			return ParseQuality(strings.TrimSpace(value))
		}
	}
	return 1000, true
}

// ParseQuality reads a weight such as "0.85" in thousandths (RFC 9110 §12.4.2).
// Java writes ".2".
func ParseQuality(s string) (q int, ok bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if whole != "0" && whole != "1" && (whole != "" || fraction == "") || len(fraction) > 3 {
		return 0, false
	}
	for i := range 3 {
		digit := byte('0')
		if i < len(fraction) {
			digit = fraction[i]
		}
		if digit < '0' || digit > '9' {
			return 0, false
		}
		q = q*10 + int(digit-'0')
	}
	if whole == "1" {
		return 1000, q == 0
	}
	return q, true
}

// AddVary names request headers that the answer depends on, each once.
func AddVary(h http.Header, names ...string) {
	value := strings.Join(h["Vary"], ", ")
	for _, name := range names {
		if !strings.Contains(strings.ToLower(", "+value+","), strings.ToLower(", "+name+",")) {
			if value != "" {
				value += ", "
			}
			value += name
		}
	}
	h["Vary"] = []string{value}
}
