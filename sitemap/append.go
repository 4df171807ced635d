package sitemap

import (
	"encoding/binary"
	"strconv"
)

const (
	declaration  = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	namespace    = ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`
	rsNamespace  = ` xmlns:rs="http://www.openarchives.org/rs/terms/"`
	listRoot     = "urlset"
	indexRoot    = "sitemapindex"
	listElement  = "url"
	indexElement = "sitemap"
)

func (f Form) root() string {
	if f == Index {
		return indexRoot
	}
	return listRoot
}

func (f Form) element() string {
	if f == Index {
		return indexElement
	}
	return listElement
}

// AppendRoot appends the beginning of a document: the XML declaration, the root
// element's start tag, and what r says.
func (f Form) AppendRoot(b []byte, r *Root) []byte {
	b = append(b, declaration...)
	b = append(b, '<')
	b = append(b, f.root()...)
	b = append(b, namespace...)
	if r.Plain {
		return append(b, ">\n"...)
	}
	b = append(b, rsNamespace...)
	b = append(b, ">\n"...)
	for i := range r.Links {
		b = appendLink(b, &r.Links[i])
		b = append(b, '\n')
	}
	b = appendMD(b, &r.MD)
	return append(b, '\n')
}

// AppendEntry appends one entry.
func (f Form) AppendEntry(b []byte, e *Entry) []byte {
	b = append(b, '<')
	b = append(b, f.element()...)
	b = append(b, "><loc>"...)
	b = appendText(b, e.Loc)
	b = append(b, "</loc>"...)
	if len(e.LastMod) > 0 {
		b = append(b, "<lastmod>"...)
		b = appendText(b, e.LastMod)
		b = append(b, "</lastmod>"...)
	}
	if e.ChangeFreq != "" {
		b = append(b, "<changefreq>"...)
		b = appendText(b, e.ChangeFreq)
		b = append(b, "</changefreq>"...)
	}
	b = appendMD(b, &e.MD)
	for i := range e.Links {
		b = appendLink(b, &e.Links[i])
	}
	b = append(b, "</"...)
	b = append(b, f.element()...)
	return append(b, ">\n"...)
}

// AppendEnd appends the end of a document.
func (f Form) AppendEnd(b []byte) []byte {
	b = append(b, "</"...)
	b = append(b, f.root()...)
	return append(b, ">\n"...)
}

func appendMD(b []byte, m *MD) []byte {
	const open = "<rs:md"
	start := len(b)
	b = append(b, open...)
	b = appendAttr(b, ` capability="`, m.Capability)
	b = appendAttr(b, ` at="`, m.At)
	b = appendAttr(b, ` completed="`, m.Completed)
	b = appendAttr(b, ` from="`, m.From)
	b = appendAttr(b, ` until="`, m.Until)
	b = appendAttr(b, ` change="`, m.Change)
	b = appendAttr(b, ` datetime="`, m.DateTime)
	b = appendSums(b, &m.Sums)
	b = appendAttr(b, ` type="`, m.Type)
	b = appendAttr(b, ` encoding="`, m.Encoding)
	b = appendAttr(b, ` path="`, m.Path)
	if len(b) == start+len(open) {
		return b[:start]
	}
	return append(b, "/>"...)
}

func appendLink(b []byte, l *Link) []byte {
	b = append(b, "<rs:ln"...)
	b = appendAttr(b, ` rel="`, l.Rel)
	b = appendAttr(b, ` href="`, l.Href)
	if l.Pri > 0 {
		b = append(b, ` pri="`...)
		b = strconv.AppendInt(b, int64(l.Pri), 10)
		b = append(b, '"')
	}
	b = appendAttr(b, ` modified="`, l.Modified)
	b = appendSums(b, &l.Sums)
	b = appendAttr(b, ` type="`, l.Type)
	b = appendAttr(b, ` encoding="`, l.Encoding)
	b = appendAttr(b, ` path="`, l.Path)
	return append(b, "/>"...)
}

// appendAttr appends an attribute unless its value is empty; open is everything
// up to the value.
func appendAttr[T ~string | ~[]byte](b []byte, open string, value T) []byte {
	if len(value) == 0 {
		return b
	}
	b = append(b, open...)
	b = appendText(b, value)
	return append(b, '"')
}

// appendSums appends the attributes hash, a list of algorithm:hex separated by
// blanks, and length (ResourceSync 1.1 §7).
func appendSums(b []byte, s *Sums) []byte {
	if s.MD5 != nil || s.SHA256 != nil {
		b = append(b, ` hash="`...)
		if s.MD5 != nil {
			b = append(b, "md5:"...)
			b = appendHex(b, s.MD5[:])
			if s.SHA256 != nil {
				b = append(b, ' ')
			}
		}
		if s.SHA256 != nil {
			b = append(b, "sha-256:"...)
			b = appendHex(b, s.SHA256[:])
		}
		b = append(b, '"')
	}
	if s.Length != nil {
		b = append(b, ` length="`...)
		b = strconv.AppendInt(b, *s.Length, 10)
		b = append(b, '"')
	}
	return b
}

// appendHex appends a digest in lower-case hexadecimal, four bytes at a time;
// its length is a multiple of four.
func appendHex(b, sum []byte) []byte {
	const each = 0x0101010101010101
	for ; len(sum) >= 4; sum = sum[4:] {
		w := uint64(binary.BigEndian.Uint32(sum)) // then spread to one digit a byte
		w = (w | w<<16) & 0x0000FFFF0000FFFF
		w = (w | w<<8) & 0x00FF00FF00FF00FF
		w = (w | w<<4) & 0x0F0F0F0F0F0F0F0F
		letters := (w + 6*each) >> 4 & each
		b = binary.BigEndian.AppendUint64(b, w+'0'*each+letters*('a'-'0'-10))
	}
	return b
}
