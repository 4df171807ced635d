package sitemaptest

import (
	"bytes"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Limits of one document (ResourceSync 1.1 §7, sitemaps.org).
const (
	maxEntries = 50_000
	maxBytes   = 52_428_800
	maxLoc     = 2048
)

// Rule is a rule that every document of ResourceSync 1.1 keeps.
type Rule struct {
	Name string
	// Broken says how d, read from b, breaks the rule.
	Broken func(d *Document, b []byte) error
}

// Rules are what [Check] checks.
func Rules() []Rule {
	return []Rule{
		{"RS-DOC-01 root in the sitemap namespace, UTF-8", checkRoot},
		{"RS-DOC-02 one rs:md under the root", checkMD},
		{"RS-DOC-03 capability", checkCapability},
		{"RS-DOC-04 attributes without prefix", checkPrefixes},
		{"RS-DOC-05 one absolute loc", checkLocs},
		{"RS-DOC-06 one rs:md at most, rs:ln with href and rel", checkElements},
		{"RS-DOC-07 limits", checkLimits},
		{"RS-DOC-08 complete UTC times", checkTimes},
		{"RS-DOC-09 element order", checkOrder},
		{"RS-DOC-11 changefreq", checkFrequency},
		{"RS-DOC-14 hash and length", checkSums},
		{"RS-DOC-15 pri", checkPriority},
		{"RS-DOC-16 registered rel or URI", checkRelations},
	}
}

// Check parses b and checks every rule in a subtest of its name.
func Check(t *testing.T, b []byte) *Document {
	t.Helper()
	d, err := Parse(b)
	if err != nil {
		t.Fatalf("not well-formed: %v\n%s", err, b)
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			if err := rule.Broken(d, b); err != nil {
				t.Error(err)
			}
		})
	}
	if t.Failed() {
		t.FailNow()
	}
	return d
}

var (
	capabilities = []string{"description", "capabilitylist", "resourcelist", "resourcedump", "resourcedump-manifest",
		"changelist", "changedump", "changedump-manifest"}
	frequencies = []string{"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}
	registered  = []string{"duplicate", "alternate", "canonical", "describedby", "describes", "memento", "timegate", "timemap",
		"collection", "via", "profile", "contents", "index", "up", "archives", "hub"}
	complete = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	sizes    = map[string]int{"md5": 16, "sha-1": 20, "sha-256": 32}
)

func absolute(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && u.Host != ""
}

// links are those of the root and of all entries.
func (d *Document) links() []Link {
	links := slices.Clone(d.Links)
	for _, e := range d.Entries() {
		links = append(links, e.Links...)
	}
	return links
}

// abouts are the rs:md of the root and of all entries.
func (d *Document) abouts() []MD {
	abouts := slices.Clone(d.MD)
	for _, e := range d.Entries() {
		abouts = append(abouts, e.MD...)
	}
	return abouts
}

func checkRoot(d *Document, b []byte) error {
	switch {
	case d.XMLName.Space != Sitemap || d.XMLName.Local != "urlset" && d.XMLName.Local != "sitemapindex":
		return fmt.Errorf("root %v", d.XMLName)
	case !bytes.HasPrefix(b, []byte(`<?xml version="1.0" encoding="UTF-8"?>`)):
		return errors.New("UTF-8 is not declared")
	case d.Index() && len(d.URLs) > 0 || !d.Index() && len(d.Parts) > 0:
		return errors.New("entries of the other root")
	}
	return nil
}

func checkMD(d *Document, _ []byte) error {
	if len(d.MD) != 1 {
		return fmt.Errorf("%d rs:md", len(d.MD))
	}
	return nil
}

func checkCapability(d *Document, _ []byte) error {
	for _, m := range d.MD {
		if !slices.Contains(capabilities, m.Capability) {
			return fmt.Errorf("capability %q", m.Capability)
		}
	}
	return nil
}

func checkPrefixes(_ *Document, b []byte) error {
	return walk(b, func(_ []string, e xml.StartElement) error {
		for _, a := range e.Attr {
			if e.Name.Space == RS && a.Name.Space != "" {
				return fmt.Errorf("attribute %v of rs:%s", a.Name, e.Name.Local)
			}
		}
		return nil
	})
}

func checkLocs(d *Document, _ []byte) error {
	for _, e := range d.Entries() {
		if len(e.Loc) != 1 || !absolute(e.Loc[0]) || len(e.Loc[0]) >= maxLoc {
			return fmt.Errorf("loc %q", e.Loc)
		}
	}
	return nil
}

func checkElements(d *Document, _ []byte) error {
	for _, e := range d.Entries() {
		if len(e.MD) > 1 {
			return fmt.Errorf("%s has %d rs:md", e.Loc, len(e.MD))
		}
	}
	for _, l := range d.links() {
		if l.Rel == "" || !absolute(l.Href) {
			return fmt.Errorf("rs:ln %+v", l)
		}
	}
	return nil
}

func checkLimits(d *Document, b []byte) error {
	if len(d.Entries()) > maxEntries || len(b) > maxBytes {
		return fmt.Errorf("%d entries, %d bytes", len(d.Entries()), len(b))
	}
	return nil
}

func checkTimes(d *Document, _ []byte) error {
	var times []string
	for _, m := range d.abouts() {
		times = append(times, m.At, m.Completed, m.From, m.Until, m.DateTime)
	}
	for _, e := range d.Entries() {
		times = append(times, e.LastMod)
	}
	for _, l := range d.links() {
		times = append(times, l.Modified)
	}
	for _, s := range times {
		if s != "" && !complete.MatchString(s) {
			return fmt.Errorf("time %q", s)
		}
	}
	return nil
}

func checkFrequency(d *Document, _ []byte) error {
	for _, e := range d.Entries() {
		if e.ChangeFreq != "" && !slices.Contains(frequencies, e.ChangeFreq) {
			return fmt.Errorf("changefreq %q", e.ChangeFreq)
		}
	}
	return nil
}

func checkSums(d *Document, _ []byte) error {
	type sums struct{ hash, length string }
	var all []sums
	for _, m := range d.abouts() {
		all = append(all, sums{m.Hash, m.Length})
	}
	for _, l := range d.links() {
		all = append(all, sums{l.Hash, l.Length})
	}
	for _, s := range all {
		for _, item := range strings.Fields(s.hash) {
			algorithm, digits, _ := strings.Cut(item, ":")
			if sum, err := hex.DecodeString(digits); err != nil || len(sum) == 0 || len(sum) != sizes[algorithm] {
				return fmt.Errorf("hash %q", item)
			}
		}
		if n, err := strconv.ParseInt(s.length, 10, 64); s.length != "" && (err != nil || n < 0) {
			return fmt.Errorf("length %q", s.length)
		}
	}
	return nil
}

func checkPriority(d *Document, _ []byte) error {
	for _, l := range d.links() {
		if n, err := strconv.Atoi(l.Pri); l.Pri != "" && (err != nil || n < 1 || n > 999_999) {
			return fmt.Errorf("pri %q", l.Pri)
		}
	}
	return nil
}

func checkRelations(d *Document, _ []byte) error {
	for _, l := range d.links() {
		if u, err := url.Parse(l.Rel); !slices.Contains(registered, l.Rel) && (err != nil || !u.IsAbs()) {
			return fmt.Errorf("rel %q", l.Rel)
		}
	}
	return nil
}

// checkOrder wants the order of sitemap.xsd: rs:* before the first entry, and in
// an entry loc, lastmod, changefreq, priority, then rs:*.
func checkOrder(_ *Document, b []byte) error {
	order := []string{"loc", "lastmod", "changefreq", "priority", "rs"}
	entered, last := false, 0
	return walk(b, func(parents []string, e xml.StartElement) error {
		rs := e.Name.Space == RS
		switch len(parents) {
		case 1:
			if rs && entered {
				return fmt.Errorf("rs:%s after an entry", e.Name.Local)
			}
			entered, last = entered || !rs, 0
		case 2:
			name := e.Name.Local
			if rs {
				name = "rs"
			}
			at := slices.Index(order, name)
			if at < last {
				return fmt.Errorf("%s after %s", name, order[last])
			}
			last = at
		}
		return nil
	})
}

// walk calls f for each element with the names of those around it.
func walk(b []byte, f func(parents []string, e xml.StartElement) error) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	var parents []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			if err := f(parents, e); err != nil {
				return err
			}
			parents = append(parents, e.Name.Local)
		case xml.EndElement:
			parents = parents[:len(parents)-1]
		}
	}
}
