package atompmh

import "gateway/model"

// MediaType is the Content-Type of every document of a feed.
const MediaType = "application/atom+xml"

// generator names the program without its version, so that a sealed document
// rendered again by a later one has the same bytes.
const generator = "gateway"

// head is what stands before the entries of a document.
type head struct {
	set     *model.Set
	at      place
	id      string     // of the logical feed
	updated model.Time // of the last change that the document covers
	self    string     // paths; "" is no such link
	current string
	prev    string
	next    string
	mark    string // fh:archive, fh:complete or ""
}

const feedStart = `<feed xmlns="http://www.w3.org/2005/Atom"`

// historyNamespace is that of RFC 5005.
const historyNamespace = ` xmlns:fh="http://purl.org/syndication/history/1.0"`

func (h *head) append(b []byte) []byte {
	b = append(b, declaration+feedStart...)
	if h.mark != "" {
		b = append(b, historyNamespace...)
	}
	b = appendElement(b, ">\n  <id>", h.id, "</id>\n")
	b = appendElement(b, "  <title>", h.set.DisplayTitle(), "</title>\n")
	if h.set.Description != "" {
		b = appendElement(b, "  <subtitle>", h.set.Description, "</subtitle>\n")
	}
	b = appendUpdated(b, "  ", h.updated)
	b = appendAuthor(b, h.set.FeedAuthor())
	b = append(b, "  <generator>"+generator+"</generator>\n"...)
	b = h.appendLink(b, "self", h.self)
	b = h.appendLink(b, "current", h.current)
	b = h.appendLink(b, "prev-archive", h.prev)
	b = h.appendLink(b, "next-archive", h.next)
	if h.set.DescribedBy != "" {
		b = appendElement(b, `  <link rel="describedby" href="`, h.set.DescribedBy, "\"/>\n")
	}
	if h.mark != "" {
		b = append(b, "  <fh:"...)
		b = append(b, h.mark...)
		b = append(b, "/>\n"...)
	}
	return b
}

// appendAuthor appends the author that RFC 4287 §4.1.1 wants, for all entries.
func appendAuthor(b []byte, a model.Author) []byte {
	b = appendElement(b, "  <author>\n    <name>", a.Name, "</name>\n")
	if a.URI != "" {
		b = appendElement(b, "    <uri>", a.URI, "</uri>\n")
	}
	if a.Email != "" {
		b = appendElement(b, "    <email>", a.Email, "</email>\n")
	}
	return append(b, "  </author>\n"...)
}

// appendLink appends a link to another document of the feed, whose path needs
// no escaping.
func (h *head) appendLink(b []byte, rel, path string) []byte {
	if path == "" {
		return b
	}
	b = append(b, `  <link rel="`...)
	b = append(b, rel...)
	b = append(b, `" href="`...)
	b = append(b, h.at.base...)
	b = append(b, path...)
	return append(b, `" type="`+MediaType+"\"/>\n"...)
}

const feedEnd = "</feed>\n"
