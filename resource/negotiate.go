package resource

import (
	"mime"
	"net/http"
	"strings"

	"gateway/internal/httpx"
	"gateway/model"
)

// negotiate chooses the representation that fits Accept best (RFC 9110 §12.5.1);
// among equals the one that fits Accept-Language best, and among those the first
// listed. It is nil when no type is acceptable. Nobody is refused for a language.
func negotiate(h http.Header, offered []*model.Resource) *model.Resource {
	accepted, languages := acceptedTypes(h["Accept"]), acceptedLanguages(h["Accept-Language"])
	var best *model.Resource
	var bestQ, bestLanguage int
	for _, r := range offered {
		q, language := accepted.quality(r.MediaType()), languages.quality(r.Hreflang)
		if q > bestQ || q > 0 && q == bestQ && language > bestLanguage {
			best, bestQ, bestLanguage = r, q, language
		}
	}
	return best
}

// mediaRange is one member of Accept.
type mediaRange struct {
	kind, sub string // "*" is any
	params    map[string]string
	q         int // thousandths
}

type mediaRanges []mediaRange

// acceptedTypes reads Accept. A member that is no media range is left out; a
// header of nothing else is as good as none.
func acceptedTypes(lines []string) mediaRanges {
	var ranges mediaRanges
	for item := range httpx.Items(lines) {
		full, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		if full == "*" { // so says Java
			full = "*/*"
		}
		kind, sub, ok := strings.Cut(full, "/")
		if !ok || kind == "*" && sub != "*" {
			continue
		}
		m := mediaRange{kind: kind, sub: sub, params: params, q: 1000}
		if weight, weighted := params["q"]; weighted {
			if m.q, ok = httpx.ParseQuality(weight); !ok {
				continue
			}
			delete(params, "q")
		}
		ranges = append(ranges, m)
	}
	return ranges
}

// quality is the weight of a media type, in thousandths: that of the most
// specific range it lies in.
func (ranges mediaRanges) quality(mediaType string) int {
	if len(ranges) == 0 {
		return 1000
	}
	full, params, err := mime.ParseMediaType(mediaType)
	if err != nil {
		full, params = mediaType, nil // a type nobody can parse matches as far as it goes
	}
	kind, sub, _ := strings.Cut(full, "/")
	q, closest := 0, -1
	for _, m := range ranges {
		if m.kind != "*" && m.kind != kind || m.sub != "*" && m.sub != sub || !covers(params, m.params) {
			continue
		}
		if closeness := m.closeness(); closeness > closest || closeness == closest && m.q > q {
			q, closest = m.q, closeness
		}
	}
	return q
}

func (m *mediaRange) closeness() int {
	switch {
	case m.kind == "*":
		return 0
	case m.sub == "*":
		return 1
	}
	return 2 + len(m.params)
}

// covers tells whether params has everything that wanted asks for. Character
// sets have no case; profiles are URIs, compared as they are.
func covers(params, wanted map[string]string) bool {
	for name, value := range wanted {
		have, ok := params[name]
		if !ok || have != value && (name != "charset" || !strings.EqualFold(have, value)) {
			return false
		}
	}
	return true
}

// languageRange is one member of Accept-Language.
type languageRange struct {
	tag string // lower case; "*" is any
	q   int    // thousandths
}

type languageRanges []languageRange

func acceptedLanguages(lines []string) languageRanges {
	var ranges languageRanges
	for item := range httpx.Items(lines) {
		tag, params, _ := strings.Cut(item, ";")
		if q, ok := httpx.Quality(params); ok {
			ranges = append(ranges, languageRange{strings.ToLower(strings.TrimSpace(tag)), q})
		}
	}
	return ranges
}

// Weights of languages that no range names, below every weight that can be
// given but 0: a text of unknown language rather than one of another.
const (
	unknownLanguage = 1
	otherLanguage   = 0
)

// quality is the weight of a language, doubled so that there is room below the
// least one: that of the longest range that begins it (RFC 4647 §3.3.1).
func (ranges languageRanges) quality(language string) int {
	if len(ranges) == 0 {
		return otherLanguage
	}
	if language == "" {
		return unknownLanguage
	}
	language = strings.ToLower(language)
	q, longest := otherLanguage, -1
	for _, l := range ranges {
		length := len(l.tag)
		if l.tag == "*" {
			length = 0
		} else if language != l.tag && !strings.HasPrefix(language, l.tag+"-") {
			continue
		}
		if length > longest {
			q, longest = 2*l.q, length
		}
	}
	return q
}
