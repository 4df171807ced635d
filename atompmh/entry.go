package atompmh

import (
	"strings"

	"gateway/model"
)

// place is where a set's documents and resources are: what their URIs begin with.
type place struct {
	base string // escaped for XML
	set  string
}

func placeOf(v *model.View) place {
	return place{base: string(appendEscaped(nil, v.Epoch.BaseURL)), set: v.Set.Name}
}

// appendEntry appends the entry of one change. It is an active entry as long as
// its record has no newer one, and a historical entry from then on, without a
// change to its bytes.
//
// A deletion has no links at all and an empty content element, which is how
// consumers tell it (Atom-PMH, "Deletion entries"). Any other entry has an
// alternate link for each hosted representation, of which a live record has at
// least one, and no content.
func appendEntry(b []byte, at place, c *model.Change) []byte {
	b = appendElement(b, "  <entry>\n    <id>", c.Identifier, "</id>\n")
	title := c.Title
	if title == "" {
		title = c.Identifier
	}
	b = appendElement(b, "    <title>", title, "</title>\n")
	b = appendUpdated(b, "    ", c.Time)
	if !c.Live() {
		return append(b, "    <content/>\n  </entry>\n"...)
	}
	if c.Summary != "" {
		b = appendElement(b, "    <summary>", c.Summary, "</summary>\n")
	}
	for _, term := range c.Collections {
		b = appendElement(b, `    <category term="`, term, "\"/>\n")
	}
	for i := range c.Resources {
		b = appendResourceLink(b, at, c.Record, &c.Resources[i])
	}
	for i := range c.Links {
		b = appendGivenLink(b, &c.Links[i])
	}
	return append(b, "  </entry>\n"...)
}

// appendResourceLink appends the link to a representation or file. What is
// hosted elsewhere can be no alternate, since nobody here can promise that it
// yields a representation; and it has no length, which nobody here has checked.
func appendResourceLink(b []byte, at place, number model.RecordNumber, r *model.Resource) []byte {
	b = append(b, `    <link rel="`...)
	switch {
	case r.Role == model.File:
		b = append(b, "enclosure"...)
	case r.External():
		b = append(b, "related"...)
	default:
		b = append(b, "alternate"...)
	}
	b = append(b, `" href="`...)
	if r.External() {
		b = appendEscaped(b, r.Href)
	} else {
		b = model.AppendResourceURI(b, at.base, at.set, number, r.Name)
	}
	b = append(b, '"')
	b = appendMediaType(b, r)
	b = appendAttribute(b, "hreflang", r.Hreflang)
	if !r.External() {
		b = appendLength(b, r.Content.Length)
	}
	return append(b, "/>\n"...)
}

// appendGivenLink appends a link that came with the record.
func appendGivenLink(b []byte, l *model.Link) []byte {
	rel := givenRel(l.Rel)
	if rel == "" {
		return b
	}
	b = appendElement(b, `    <link rel="`, rel, `" href="`)
	b = appendEscaped(b, l.Href)
	b = append(b, '"')
	b = appendAttribute(b, "type", l.Type)
	b = appendAttribute(b, "hreflang", l.Hreflang)
	b = appendAttribute(b, "title", l.Title)
	return append(b, "/>\n"...)
}

// registry is what RFC 4287 §4.2.7.2 puts before a registered relation's name
// to make it a URI. Both spellings mean the same.
const registry = "http://www.iana.org/assignments/relation/"

// givenRel is the relation under which a link that came with a record stands in
// its entry, "" when it is left out. Alternates and enclosures of an entry are
// the record's representations and files and nothing else, so a link that calls
// itself one is related; and only this package says how the documents of a feed
// hang together.
func givenRel(rel string) string {
	name := rel
	if len(rel) > len(registry) && strings.EqualFold(rel[:len(registry)], registry) {
		name = rel[len(registry):]
	}
	switch strings.ToLower(name) {
	case "alternate", "enclosure":
		return "related"
	case "self", "edit", "edit-media", "current", "prev-archive", "next-archive",
		"first", "last", "next", "prev", "previous":
		return ""
	}
	return rel
}
