package ingest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	atomNamespace = "http://www.w3.org/2005/Atom"
	atomType      = "application/atom+xml"
	// selfRelation is "self" spelt as an IRI (RFC 4287 §4.2.7.2).
	selfRelation = "http://www.iana.org/assignments/relation/self"
)

// doctype begins a document type declaration (XML 1.0 §2.8).
var doctype = []byte("<!DOCTYPE")

// errDocumentType: entities and default attributes of a document type can spell a
// self link in ways that are not searched for.
var errDocumentType = errors.New("has a document type (<!DOCTYPE …>), which an Atom document here may not have")

// span is a run of bytes in a document.
type span struct{ from, to int }

// selfToVia returns doc with every self link of an Atom entry document made a
// via link, byte for byte the same otherwise: here the record has another URI,
// which its own server's self would contradict. A document with another root
// comes back as it is. The error says why doc is not well-formed XML.
func selfToVia(doc []byte) ([]byte, error) {
	spans, err := selfLinks(doc)
	if err != nil || len(spans) == 0 {
		return doc, err
	}
	out := make([]byte, 0, len(doc))
	from := 0
	for _, s := range spans {
		out = append(append(out, doc[from:s.from]...), "via"...)
		from = s.to
	}
	return append(out, doc[from:]...), nil
}

// selfLinks finds the values of the rel attributes that say self, on links that
// are children of the root entry.
func selfLinks(doc []byte) (spans []span, err error) {
	d := newXMLDecoder(bytes.NewReader(doc))
	depth, roots, entry := 0, 0, false
	for {
		from := int(d.InputOffset())
		token, err := d.Token()
		if errors.Is(err, io.EOF) && roots == 1 {
			return spans, nil
		}
		if err != nil {
			if roots == 0 && bytes.Contains(doc, doctype) {
				err = errDocumentType // that is what could not be read
			}
			return nil, err
		}
		switch x := token.(type) {
		case xml.Directive:
			return nil, errDocumentType
		case xml.StartElement:
			if depth == 0 {
				roots++
				entry = isEntry(x.Name)
			}
			if roots > 1 {
				return nil, errors.New("a second root element")
			}
			if err := checkUnique(x.Attr); err != nil {
				return nil, err
			}
			if entry && depth == 1 && x.Name == (xml.Name{Space: atomNamespace, Local: "link"}) {
				for k, a := range x.Attr {
					if a.Name == (xml.Name{Local: "rel"}) && (a.Value == "self" || a.Value == selfRelation) {
						s := attributeValue(doc[from:d.InputOffset()], k)
						spans = append(spans, span{from + s.from, from + s.to})
					}
				}
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && len(bytes.Trim(x, "\ufeff \t\r\n")) > 0 {
				return nil, errors.New("text outside of the root element")
			}
		}
	}
}

// isEntryDocument tells whether the root of the document that r yields is an
// Atom entry, without reading on. What is no XML is none. The error is
// errDocumentType or nil.
func isEntryDocument(r io.Reader) (bool, error) {
	var read bytes.Buffer
	d := newXMLDecoder(io.TeeReader(r, &read))
	for {
		token, err := d.Token()
		if err != nil {
			if bytes.Contains(read.Bytes(), doctype) {
				return false, errDocumentType
			}
			return false, nil
		}
		switch x := token.(type) {
		case xml.Directive:
			return false, errDocumentType
		case xml.StartElement:
			return isEntry(x.Name), nil
		}
	}
}

func isEntry(n xml.Name) bool { return n == xml.Name{Space: atomNamespace, Local: "entry"} }

// checkUnique does what encoding/xml leaves out (XML 1.0 §3.1).
func checkUnique(attributes []xml.Attr) error {
	for i := range attributes {
		for j := range i {
			if attributes[i].Name == attributes[j].Name {
				return fmt.Errorf("attribute %s stands twice", attributes[i].Name.Local)
			}
		}
	}
	return nil
}

// attributeValue finds the value of the k-th attribute of a start tag that is
// known to be well-formed.
func attributeValue(tag []byte, k int) span {
	i := 0
	for ; ; k-- {
		i += bytes.IndexAny(tag[i:], `"'`)
		end := i + 1 + bytes.IndexByte(tag[i+1:], tag[i])
		if k == 0 {
			return span{i + 1, end}
		}
		i = end + 1
	}
}

// newXMLDecoder decodes UTF-8 and the encodings that have ASCII in its place.
// Offsets count the bytes of r.
func newXMLDecoder(r io.Reader) *xml.Decoder {
	d := xml.NewDecoder(r)
	d.CharsetReader = func(charset string, r io.Reader) (io.Reader, error) {
		switch c := strings.ToLower(charset); {
		case c == "us-ascii", strings.HasPrefix(c, "iso-8859-"), strings.HasPrefix(c, "windows-125"):
			return asciiReader{r}, nil
		}
		return nil, fmt.Errorf("encoding %s is not read here", shorten(charset))
	}
	return d
}

// asciiReader shows every byte above ASCII as a letter: what they are is of no
// matter for finding links.
type asciiReader struct{ r io.Reader }

func (a asciiReader) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	for i, c := range p[:n] {
		if c >= 0x80 {
			p[i] = 'x'
		}
	}
	return n, err
}
