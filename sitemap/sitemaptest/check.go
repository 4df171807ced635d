package sitemaptest

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Limits of one document (ResourceSync 1.1 §7, sitemaps.org).
const (
	maxEntries = 50_000
	maxBytes   = 52_428_800
	maxLoc     = 2048
)

// Check parses b and checks what holds for every document of ResourceSync 1.1,
// each rule in a subtest of its name.
func Check(t *testing.T, b []byte) *Document {
	t.Helper()
	d, err := Parse(b)
	if err != nil {
		t.Fatalf("not well-formed: %v\n%s", err, b)
	}
	t.Run("RS-DOC-01 root in the sitemap namespace, UTF-8", func(t *testing.T) {
		if d.XMLName.Space != Sitemap || d.XMLName.Local != "urlset" && d.XMLName.Local != "sitemapindex" {
			t.Errorf("root %v", d.XMLName)
		}
		if !bytes.HasPrefix(b, []byte(`<?xml version="1.0" encoding="UTF-8"?>`)) {
			t.Error("no declaration of UTF-8")
		}
		if d.Index() && len(d.URLs) > 0 || !d.Index() && len(d.Parts) > 0 {
			t.Error("entries of the other root")
		}
	})
	t.Run("RS-DOC-02 one rs:md under the root", func(t *testing.T) {
		if len(d.MD) != 1 {
			t.Fatalf("%d of them", len(d.MD))
		}
	})
	t.Run("RS-DOC-03 capability", func(t *testing.T) {
		if !slices.Contains(capabilities, d.MD[0].Capability) {
			t.Errorf("capability %q", d.MD[0].Capability)
		}
	})
	t.Run("RS-DOC-04 attributes without prefix", func(t *testing.T) { checkPrefixes(t, b) })
	t.Run("RS-DOC-05 one absolute loc", func(t *testing.T) { checkLocs(t, d) })
	t.Run("RS-DOC-06 one rs:md at most, rs:ln with href and rel", func(t *testing.T) { checkElements(t, d) })
	t.Run("RS-DOC-07 limits", func(t *testing.T) {
		if len(d.Entries()) > maxEntries || len(b) > maxBytes {
			t.Errorf("%d entries, %d bytes", len(d.Entries()), len(b))
		}
	})
	t.Run("RS-DOC-08 complete UTC times", func(t *testing.T) { checkTimes(t, d) })
	t.Run("RS-DOC-09 element order", func(t *testing.T) { checkOrder(t, b) })
	t.Run("RS-DOC-11 changefreq", func(t *testing.T) {
		for _, e := range d.Entries() {
			if e.ChangeFreq != "" && !slices.Contains(frequencies, e.ChangeFreq) {
				t.Errorf("changefreq %q", e.ChangeFreq)
			}
		}
	})
	t.Run("RS-DOC-14 hash", func(t *testing.T) {
		for _, e := range d.Entries() {
			CheckHash(t, e.About().Hash)
		}
	})
	t.Run("RS-DOC-16 registered rel or URI", func(t *testing.T) {
		for _, l := range d.links() {
			if !registered.MatchString(l.Rel) && !absolute(l.Rel) {
				t.Errorf("rel %q", l.Rel)
			}
		}
	})
	return d
}

var (
	capabilities = []string{"description", "capabilitylist", "resourcelist", "resourcedump", "resourcedump-manifest",
		"changelist", "changedump", "changedump-manifest"}
	frequencies = []string{"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}
	registered  = regexp.MustCompile(`^(duplicate|alternate|canonical|describedby|describes|memento|timegate|timemap|collection|via|profile|contents|index|up|archives|hub)$`)
	complete    = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
)

func absolute(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && u.Host != ""
}

func (d *Document) links() []Link {
	links := slices.Clone(d.Links)
	for _, e := range d.Entries() {
		links = append(links, e.Links...)
	}
	return links
}

func checkLocs(t *testing.T, d *Document) {
	for _, e := range d.Entries() {
		if len(e.Loc) != 1 || !absolute(e.Loc[0]) || len(e.Loc[0]) >= maxLoc {
			t.Errorf("loc %q", e.Loc)
		}
	}
}

func checkElements(t *testing.T, d *Document) {
	for _, e := range d.Entries() {
		if len(e.MD) > 1 {
			t.Errorf("%s has %d rs:md", e.Loc, len(e.MD))
		}
	}
	for _, l := range d.links() {
		if l.Rel == "" || !absolute(l.Href) {
			t.Errorf("rs:ln %q %q", l.Rel, l.Href)
		}
	}
}

func checkTimes(t *testing.T, d *Document) {
	times := []string{}
	about := func(m MD) { times = append(times, m.At, m.Completed, m.From, m.Until, m.DateTime) }
	about(d.MD[0])
	for _, e := range d.Entries() {
		times = append(times, e.LastMod)
		about(e.About())
	}
	for _, s := range times {
		if s != "" && !complete.MatchString(s) {
			t.Errorf("time %q", s)
		}
	}
}

func checkPrefixes(t *testing.T, b []byte) {
	walk(t, b, func(_ []string, e xml.StartElement) {
		for _, a := range e.Attr {
			if e.Name.Space == RS && a.Name.Space != "" {
				t.Errorf("attribute %v of %s", a.Name, e.Name.Local)
			}
		}
	})
}

// checkOrder wants the order of sitemap.xsd: rs:* before the first entry, and in
// an entry loc, lastmod, changefreq, priority, then rs:*.
func checkOrder(t *testing.T, b []byte) {
	order := []string{"loc", "lastmod", "changefreq", "priority", "rs"}
	entered, last := false, 0
	walk(t, b, func(parents []string, e xml.StartElement) {
		switch len(parents) {
		case 1:
			if e.Name.Space != RS {
				entered = true
			} else if entered {
				t.Errorf("rs:%s after an entry", e.Name.Local)
			}
			last = 0
		case 2:
			name := e.Name.Local
			if e.Name.Space == RS {
				name = "rs"
			}
			if at := slices.Index(order, name); at < last {
				t.Errorf("%s after %s", name, order[last])
			} else {
				last = at
			}
		}
	})
}

// walk calls f for each element with the names of those around it.
func walk(t *testing.T, b []byte, f func(parents []string, e xml.StartElement)) {
	d := xml.NewDecoder(strings.NewReader(string(b)))
	var parents []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			f(parents, e)
			parents = append(parents, e.Name.Local)
		case xml.EndElement:
			parents = parents[:len(parents)-1]
		}
	}
}
