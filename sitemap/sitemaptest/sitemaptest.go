// Package sitemaptest reads and checks Sitemap documents for tests, by
// encoding/xml and xmllint: nothing of the writer under test is used.
package sitemaptest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
)

// Namespaces of the elements (ResourceSync 1.1 §7).
const (
	Sitemap = "http://www.sitemaps.org/schemas/sitemap/0.9"
	RS      = "http://www.openarchives.org/rs/terms/"
)

// Document is a document as read back. A root element of urlset leaves it a
// list, sitemapindex an index.
type Document struct {
	XMLName xml.Name
	Links   []Link  `xml:"http://www.openarchives.org/rs/terms/ ln"`
	MD      []MD    `xml:"http://www.openarchives.org/rs/terms/ md"`
	URLs    []Entry `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 url"`
	Parts   []Entry `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 sitemap"`
}

// Entry is a url or sitemap element.
type Entry struct {
	Loc        []string `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 loc"`
	LastMod    string   `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 lastmod"`
	ChangeFreq string   `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 changefreq"`
	MD         []MD     `xml:"http://www.openarchives.org/rs/terms/ md"`
	Links      []Link   `xml:"http://www.openarchives.org/rs/terms/ ln"`
}

// MD is an rs:md element.
type MD struct {
	Capability string `xml:"capability,attr"`
	At         string `xml:"at,attr"`
	Completed  string `xml:"completed,attr"`
	From       string `xml:"from,attr"`
	Until      string `xml:"until,attr"`
	Change     string `xml:"change,attr"`
	DateTime   string `xml:"datetime,attr"`
	Hash       string `xml:"hash,attr"`
	Length     string `xml:"length,attr"`
	Type       string `xml:"type,attr"`
	Encoding   string `xml:"encoding,attr"`
	Path       string `xml:"path,attr"`
}

// Link is an rs:ln element.
type Link struct {
	Rel      string `xml:"rel,attr"`
	Href     string `xml:"href,attr"`
	Pri      string `xml:"pri,attr"`
	Modified string `xml:"modified,attr"`
	Hash     string `xml:"hash,attr"`
	Length   string `xml:"length,attr"`
	Type     string `xml:"type,attr"`
	Encoding string `xml:"encoding,attr"`
	Path     string `xml:"path,attr"`
}

// Index tells whether d is a sitemapindex.
func (d *Document) Index() bool { return d.XMLName.Local == "sitemapindex" }

// Entries are the entries of d, whatever its root.
func (d *Document) Entries() []Entry {
	if d.Index() {
		return d.Parts
	}
	return d.URLs
}

// Link is the href of the first link with the relation, or "".
func (d *Document) Link(rel string) string { return href(d.Links, rel) }

// Link is the href of the first link with the relation, or "".
func (e *Entry) Link(rel string) string { return href(e.Links, rel) }

func href(links []Link, rel string) string {
	for _, l := range links {
		if l.Rel == rel {
			return l.Href
		}
	}
	return ""
}

// URI is the loc of e.
func (e *Entry) URI() string { return e.Loc[0] }

// About is the rs:md of e, or a zero one.
func (e *Entry) About() MD {
	if len(e.MD) == 0 {
		return MD{}
	}
	return e.MD[0]
}

// Parse reads exactly one element with nothing but white space around it.
func Parse(b []byte) (*Document, error) {
	d := xml.NewDecoder(bytes.NewReader(b))
	doc := &Document{}
	if err := d.Decode(doc); err != nil {
		return nil, err
	}
	for {
		switch token, err := d.Token(); {
		case err == io.EOF:
			return doc, nil
		case err != nil:
			return nil, err
		default:
			if text, ok := token.(xml.CharData); !ok || len(bytes.TrimSpace(text)) > 0 {
				return nil, fmt.Errorf("%T after the root element", token)
			}
		}
	}
}
