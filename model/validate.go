package model

import (
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"
)

// Limits of one record. An identifier of more than 2,048 bytes does not fit a
// column of the log; the others keep a change small enough for one document.
const (
	MaxIdentifier      = 2048
	MaxName            = 255
	MaxRepresentations = 100
	MaxFiles           = 1000
	maxURI             = 2000
	maxTitle           = 16 << 10
	maxSummary         = 64 << 10
	maxType            = 255
	maxCollections     = 1000
	maxLinks           = 1000
	// maxMetadata is for everything that is said about a record and its
	// resources, together. Escaped for XML six times as long, it still leaves
	// room in a document, and it fits a packet of every database.
	maxMetadata = 1 << 20
)

// Validate checks everything a record must be, whatever set it goes to. The
// error is a [*FieldError].
func (r *Record) Validate() error {
	if err := checkIdentifier(r.Identifier); err != nil {
		return err
	}
	if r.Deleted {
		return nil
	}
	if err := checkText("title", r.Title, maxTitle); err != nil {
		return err
	}
	if err := checkText("summary", r.Summary, maxSummary); err != nil {
		return err
	}
	if err := checkText("modified", r.Modified, 64); err != nil {
		return err
	}
	if len(r.Collections) > maxCollections {
		return fieldErrorf("collections", "%d of them; at most %d", len(r.Collections), maxCollections)
	}
	for i, c := range r.Collections {
		if c == "" {
			return fieldErrorf(fmt.Sprintf("collections[%d]", i), "is empty")
		}
		if err := checkText(fmt.Sprintf("collections[%d]", i), c, maxURI); err != nil {
			return err
		}
	}
	if err := r.validateLinks(); err != nil {
		return err
	}
	if err := r.validateResources(); err != nil {
		return err
	}
	return r.validateSize()
}

// validateSize bounds all texts of r together, however well each fits its own
// limit. The error is about the field that has most of them.
func (r *Record) validateSize() error {
	parts := []struct {
		field string
		bytes int
	}{{"title", len(r.Title)}, {"summary", len(r.Summary)}, {"collections", 0}, {"links", 0}, {"representations", 0}, {"files", 0}}
	for _, c := range r.Collections {
		parts[2].bytes += len(c)
	}
	for i := range r.Links {
		l := &r.Links[i]
		parts[3].bytes += len(l.Rel) + len(l.Href) + len(l.Type) + len(l.Hreflang) + len(l.Title)
	}
	for i := range r.Resources {
		x, part := &r.Resources[i], &parts[4]
		if x.Role == File {
			part = &parts[5]
		}
		part.bytes += len(x.Name) + len(x.Type) + len(x.Profile) + len(x.Hreflang) + len(x.Href)
	}
	total, most := 0, parts[0]
	for _, p := range parts {
		total += p.bytes
		if p.bytes > most.bytes {
			most = p
		}
	}
	if total > maxMetadata {
		return fieldErrorf(most.field, "%d bytes of %d that are said about the record; at most %d together", most.bytes, total, maxMetadata)
	}
	return nil
}

func (r *Record) validateLinks() error {
	if len(r.Links) > maxLinks {
		return fieldErrorf("links", "%d of them; at most %d", len(r.Links), maxLinks)
	}
	for i := range r.Links {
		l, field := &r.Links[i], fmt.Sprintf("links[%d]", i)
		if l.Rel == "" || strings.ContainsAny(l.Rel, " \t\n\r") {
			return fieldErrorf(field+".rel", "want one relation type, registered or an absolute URI")
		}
		if err := checkText(field+".rel", l.Rel, maxURI); err != nil {
			return err
		}
		if err := checkURI(field+".href", l.Href); err != nil {
			return err
		}
		if l.Type != "" {
			if err := checkType(field+".type", l.Type); err != nil {
				return err
			}
		}
		if l.Hreflang != "" && !validLanguage(l.Hreflang) {
			return fieldErrorf(field+".hreflang", "%q is not a language tag", truncate(l.Hreflang))
		}
		if err := checkText(field+".title", l.Title, maxTitle); err != nil {
			return err
		}
	}
	return nil
}

func (r *Record) validateResources() error {
	representations, files := r.Representations(), r.Files()
	if len(representations) > MaxRepresentations {
		return fieldErrorf("representations", "%d of them; at most %d", len(representations), MaxRepresentations)
	}
	if len(files) > MaxFiles {
		return fieldErrorf("files", "%d of them; at most %d", len(files), MaxFiles)
	}
	names := make(map[string]bool, len(r.Resources))
	// Atom forbids two alternates that agree in these (RFC 4287 §4.1.2), and a
	// profile may stand in the type too.
	type negotiated struct{ mediaType, hreflang string }
	kinds := make(map[negotiated]bool, len(representations))
	hosted := false
	for i := range r.Resources {
		x := &r.Resources[i]
		field := resourceField(i, len(representations))
		if i >= len(representations) && x.Role != File {
			return fieldErrorf(field, "a representation stands after a file")
		}
		if err := checkResource(field, x); err != nil {
			return err
		}
		if names[x.Name] {
			return fieldErrorf(field+".name", "%q is the name of another representation or file of the record", x.Name)
		}
		names[x.Name] = true
		if x.Role == File {
			continue
		}
		hosted = hosted || !x.External()
		k := negotiated{normalType(x.MediaType()), strings.ToLower(x.Hreflang)}
		if kinds[k] {
			return fieldErrorf(field, "type, profile and hreflang equal those of another representation of the record")
		}
		kinds[k] = true
	}
	if !hosted {
		return fieldErrorf("representations", "a live record needs at least one whose content is hosted here")
	}
	return nil
}

// resourceField names the i-th resource as the sender sees it.
func resourceField(i, representations int) string {
	if i < representations {
		return fmt.Sprintf("representations[%d]", i)
	}
	return fmt.Sprintf("files[%d]", i-representations)
}

func checkResource(field string, x *Resource) error {
	if err := checkName(field+".name", x.Name); err != nil {
		return err
	}
	if err := checkType(field+".type", x.Type); err != nil {
		return err
	}
	if x.Profile != "" {
		if err := checkURI(field+".profile", x.Profile); err != nil {
			return err
		}
	}
	if x.Hreflang != "" && !validLanguage(x.Hreflang) {
		return fieldErrorf(field+".hreflang", "%q is not a language tag", truncate(x.Hreflang))
	}
	if x.External() {
		return checkURI(field+".href", x.Href)
	}
	return nil
}

func checkIdentifier(s string) error {
	switch {
	case s == "":
		return fieldErrorf("identifier", "is missing")
	case len(s) > MaxIdentifier:
		return fieldErrorf("identifier", "has %d bytes; at most %d", len(s), MaxIdentifier)
	}
	if err := checkPlain("identifier", s); err != nil {
		return err
	}
	if !hasScheme(s) {
		return fieldErrorf("identifier", "%q is not an absolute IRI (a scheme, a colon, and something after it)", truncate(s))
	}
	return nil
}

func checkName(field, s string) error {
	switch {
	case s == "":
		return fieldErrorf(field, "is missing")
	case len(s) > MaxName:
		return fieldErrorf(field, "has %d bytes; at most %d", len(s), MaxName)
	case s == "." || s == "..":
		return fieldErrorf(field, "%q is not a name", s)
	case strings.ContainsAny(s, `/\`):
		return fieldErrorf(field, `%q holds a / or \`, truncate(s))
	}
	return checkPlain(field, s)
}

// checkType wants type/subtype with optional parameters, of characters that a
// header can carry.
func checkType(field, s string) error {
	if s == "" {
		return fieldErrorf(field, "is missing")
	}
	if len(s) > maxType {
		return fieldErrorf(field, "has %d bytes; at most %d", len(s), maxType)
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return fieldErrorf(field, "%q holds a character that no media type has", truncate(s))
		}
	}
	base := BaseType(s)
	major, minor, ok := strings.Cut(base, "/")
	if !ok || !isToken(major) || !isToken(minor) {
		return fieldErrorf(field, "%q is not a media type", truncate(s))
	}
	return nil
}

// normalType is the form that media types have in common which mean the same
// (RFC 9110 §8.3.1): type, names of parameters and the charset in lower case,
// without spaces, and the parameters in one order and quoting.
func normalType(s string) string {
	if !strings.Contains(s, ";") {
		return strings.ToLower(s)
	}
	base, parameters, err := mime.ParseMediaType(s)
	if err != nil {
		return strings.ToLower(s) // a form of its own
	}
	if charset, ok := parameters["charset"]; ok {
		parameters["charset"] = strings.ToLower(charset)
	}
	if normal := mime.FormatMediaType(base, parameters); normal != "" {
		return normal
	}
	return strings.ToLower(s)
}

// BaseType is a media type without its parameters.
func BaseType(s string) string {
	base, _, _ := strings.Cut(s, ";")
	return strings.TrimRight(base, " ")
}

func isToken(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return true
}

// checkURI wants an absolute URI that fits into an attribute and a header.
func checkURI(field, s string) error {
	if s == "" {
		return fieldErrorf(field, "is missing")
	}
	if len(s) > maxURI {
		return fieldErrorf(field, "has %d bytes; at most %d", len(s), maxURI)
	}
	if err := checkPlain(field, s); err != nil {
		return err
	}
	if strings.ContainsAny(s, " <>\"") || !hasScheme(s) {
		return fieldErrorf(field, "%q is not an absolute URI", truncate(s))
	}
	return nil
}

// hasScheme tells whether s begins with a URI scheme (RFC 3986 §3.1) and a
// colon, and goes on after it.
func hasScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i+1 < len(s)
		default:
			return false
		}
	}
	return false
}

// validLanguage follows the shape of RFC 5646: subtags of up to eight letters or
// digits, the first of letters only.
func validLanguage(s string) bool {
	if len(s) > 64 {
		return false
	}
	for i, tag := range strings.Split(s, "-") {
		if tag == "" || len(tag) > 8 {
			return false
		}
		for j := range len(tag) {
			c := tag[j]
			letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
			if !letter && (i == 0 || c < '0' || c > '9') {
				return false
			}
		}
	}
	return true
}

// checkPlain refuses what XML 1.0 cannot carry, and line breaks and tabs, which
// an attribute or a header would change.
func checkPlain(field, s string) error {
	if !utf8.ValidString(s) {
		return fieldErrorf(field, "is not UTF-8")
	}
	for i, r := range s {
		if r < ' ' || r == 0x7f || !inXML(r) {
			return fieldErrorf(field, "holds the character U+%04X at byte %d", r, i)
		}
	}
	return nil
}

// checkText wants UTF-8 that XML 1.0 can carry, of at most most bytes.
func checkText(field, s string, most int) error {
	if len(s) > most {
		return fieldErrorf(field, "has %d bytes; at most %d", len(s), most)
	}
	if !utf8.ValidString(s) {
		return fieldErrorf(field, "is not UTF-8")
	}
	for i, r := range s {
		if !inXML(r) {
			return fieldErrorf(field, "holds the character U+%04X at byte %d, which XML cannot carry", r, i)
		}
	}
	return nil
}

// inXML tells whether XML 1.0 can carry r (XML 1.0 §2.2).
func inXML(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= 0x10FFFF
}

// CleanText replaces what XML 1.0 cannot carry by U+FFFD and tells whether there
// was any. Titles and other texts for people go through it; identifiers, names,
// types and URIs with such characters are refused instead.
func CleanText(s string) (clean string, changed bool) {
	for _, r := range s {
		if !inXML(r) || r == utf8.RuneError {
			changed = true
			break
		}
	}
	if !changed {
		return s, false
	}
	clean = strings.Map(func(r rune) rune {
		if !inXML(r) {
			return utf8.RuneError
		}
		return r
	}, s)
	return clean, clean != s
}

func truncate(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	for i := most; i > 0; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i] + "…"
		}
	}
	return "…"
}
