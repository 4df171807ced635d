package fold

import (
	"encoding/xml"
	"fmt"
	"slices"
)

const atomType = "application/atom+xml"

type feed struct {
	XMLName  xml.Name  `xml:"http://www.w3.org/2005/Atom feed"`
	ID       []string  `xml:"http://www.w3.org/2005/Atom id"`
	Updated  []string  `xml:"http://www.w3.org/2005/Atom updated"`
	Links    []link    `xml:"http://www.w3.org/2005/Atom link"`
	Archive  *struct{} `xml:"http://purl.org/syndication/history/1.0 archive"`
	Complete *struct{} `xml:"http://purl.org/syndication/history/1.0 complete"`
	Author   []struct {
		Name string `xml:"http://www.w3.org/2005/Atom name"`
	} `xml:"http://www.w3.org/2005/Atom author"`
	Entries []entry `xml:"http://www.w3.org/2005/Atom entry"`
}

type entry struct {
	ID      []string `xml:"http://www.w3.org/2005/Atom id"`
	Title   []string `xml:"http://www.w3.org/2005/Atom title"`
	Updated []string `xml:"http://www.w3.org/2005/Atom updated"`
	Links   []link   `xml:"http://www.w3.org/2005/Atom link"`
	Content *struct {
		Src  string `xml:"src,attr"`
		Text string `xml:",innerxml"`
	} `xml:"http://www.w3.org/2005/Atom content"`
}

type link struct {
	Rel      string `xml:"rel,attr"`
	Href     string `xml:"href,attr"`
	Type     string `xml:"type,attr"`
	Hreflang string `xml:"hreflang,attr"`
}

func (f *feed) link(rel string) string {
	for _, l := range f.Links {
		if l.Rel == rel {
			return l.Href
		}
	}
	return ""
}

// Atom folds the logical feed whose subscription document is at url: it walks
// prev-archive to the end (RFC 5005 §4.2), applies the documents oldest first,
// and returns the live records by identifier.
func (w *Witness) Atom(url string) (map[string]Record, error) {
	var chain []*feed
	seen := map[string]bool{}
	oldest := "" // updated of the oldest entry of the document before
	for at := url; at != ""; {
		if seen[at] {
			return nil, fmt.Errorf("%s: the chain loops", at)
		}
		seen[at] = true
		f, err := w.feed(at)
		if err != nil {
			return nil, err
		}
		if err := f.check(at, at == url, url); err != nil {
			return nil, err
		}
		if oldest != "" && f.Updated[0] > oldest {
			return nil, fmt.Errorf("%s: PMH-TS-02: updated %s is later than an entry of the document that refers to it (%s)", at, f.Updated[0], oldest)
		}
		for _, e := range f.Entries {
			if oldest == "" || e.Updated[0] < oldest {
				oldest = e.Updated[0]
			}
		}
		if len(chain) > 0 && chain[0].ID[0] != f.ID[0] {
			return nil, fmt.Errorf("%s: ATOM-07: the feed's id differs along the chain", at)
		}
		chain = append(chain, f)
		at = f.link("prev-archive")
	}
	slices.Reverse(chain)
	records := map[string]Record{}
	newest := map[string]string{}
	for i, f := range chain {
		if i+2 < len(chain) && f.link("next-archive") != chain[i+1].link("self") {
			return nil, fmt.Errorf("%s: ARCH-08: next-archive is %q, the next archive is %q", f.link("self"), f.link("next-archive"), chain[i+1].link("self"))
		}
		for j := len(f.Entries) - 1; j >= 0; j-- {
			if err := apply(records, newest, &f.Entries[j]); err != nil {
				return nil, fmt.Errorf("%s: %w", f.link("self"), err)
			}
		}
	}
	return records, nil
}

// Complete folds a complete feed.
func (w *Witness) Complete(url string) (map[string]Record, error) {
	f, err := w.feed(url)
	if err != nil {
		return nil, err
	}
	if f.Complete == nil || f.link("prev-archive") != "" {
		return nil, fmt.Errorf("%s: ARCH-14: not a complete feed of its own", url)
	}
	records, newest := map[string]Record{}, map[string]string{}
	for i := range f.Entries {
		if err := apply(records, newest, &f.Entries[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", url, err)
		}
	}
	if len(records) != len(f.Entries) {
		return nil, fmt.Errorf("%s: %d entries for %d records", url, len(f.Entries), len(records))
	}
	return records, nil
}

func (w *Witness) feed(url string) (*feed, error) {
	f, err := document[feed](w, url, atomType)
	if err != nil {
		return nil, err
	}
	if len(f.ID) != 1 || len(f.Updated) != 1 || len(f.Author) == 0 {
		return nil, fmt.Errorf("%s: ATOM-03, ATOM-06: want one id, one updated, an author", url)
	}
	if f.link("self") != url {
		return nil, fmt.Errorf("%s: ATOM-12: self is %s", url, f.link("self"))
	}
	for _, e := range f.Entries {
		if len(e.ID) != 1 || len(e.Title) != 1 || len(e.Updated) != 1 {
			return nil, fmt.Errorf("%s: ATOM-04: an entry without one id, title and updated", url)
		}
		if e.Updated[0] > f.Updated[0] {
			return nil, fmt.Errorf("%s: PMH-TS-01: the feed's updated %s is before an entry's %s", url, f.Updated[0], e.Updated[0])
		}
	}
	return f, nil
}

func (f *feed) check(url string, subscription bool, current string) error {
	switch {
	case subscription && f.Archive != nil:
		return fmt.Errorf("%s: ARCH-10: the subscription document calls itself an archive", url)
	case !subscription && f.Archive == nil:
		return fmt.Errorf("%s: ARCH-10: an archive document without fh:archive", url)
	case f.Complete != nil:
		return fmt.Errorf("%s: PMH-DEL-02: fh:complete in a chain", url)
	case f.link("current") != current:
		return fmt.Errorf("%s: ARCH-09: current is %q", url, f.link("current"))
	case subscription && f.link("prev-archive") != "" && len(f.Entries) == 0:
		return fmt.Errorf("%s: ARCH-06: the subscription document is empty", url)
	}
	return nil
}

// apply takes one entry into the folded records; later entries of a record must
// have later times.
func apply(records map[string]Record, newest map[string]string, e *entry) error {
	id, updated := e.ID[0], e.Updated[0]
	if was := newest[id]; was > updated {
		return nil // the chain repeats the newest segment in two documents while it moves
	} else if was == updated {
		if _, live := records[id]; live == (e.Content != nil) {
			return fmt.Errorf("PMH-ACT-04: two entries of %s at %s differ", id, updated)
		}
		return nil
	}
	newest[id] = updated
	r := Record{Title: e.Title[0], Updated: updated, Alternates: map[string]string{}, Enclosures: map[string]string{}, Related: map[string]string{}}
	pairs := map[[2]string]bool{}
	for _, l := range e.Links {
		switch l.Rel {
		case "alternate", "":
			pair := [2]string{l.Type, l.Hreflang}
			if pairs[pair] {
				return fmt.Errorf("ATOM-10: %s has two alternate links of type %q", id, l.Type)
			}
			pairs[pair] = true
			r.Alternates[l.Href] = l.Type
		case "enclosure":
			r.Enclosures[l.Href] = l.Type
		case "related":
			r.Related[l.Href] = l.Type
		}
	}
	switch {
	case e.Content != nil && (e.Content.Src != "" || e.Content.Text != ""):
		return fmt.Errorf("PMH-DEL-06: %s has content", id)
	case e.Content != nil && len(r.Alternates) > 0:
		return fmt.Errorf("PMH-DEL-05: the deletion of %s has an alternate link", id)
	case e.Content != nil:
		delete(records, id)
	case len(r.Alternates) == 0:
		return fmt.Errorf("PMH-ACT-06: %s has no alternate link", id)
	default:
		records[id] = r
	}
	return nil
}
