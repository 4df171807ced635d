package fold

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

const listType = "application/xml"

// list is any ResourceSync document.
type list struct {
	XMLName xml.Name
	MD      []md   `xml:"http://www.openarchives.org/rs/terms/ md"`
	Links   []link `xml:"http://www.openarchives.org/rs/terms/ ln"`
	URLs    []item `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 url"`
	Maps    []item `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 sitemap"`
}

type item struct {
	Loc     []string `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 loc"`
	LastMod string   `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 lastmod"`
	MD      []md     `xml:"http://www.openarchives.org/rs/terms/ md"`
	Links   []link   `xml:"http://www.openarchives.org/rs/terms/ ln"`
}

type md struct {
	Capability string `xml:"capability,attr"`
	At         string `xml:"at,attr"`
	From       string `xml:"from,attr"`
	Until      string `xml:"until,attr"`
	Change     string `xml:"change,attr"`
	Datetime   string `xml:"datetime,attr"`
	Hash       string `xml:"hash,attr"`
	Length     string `xml:"length,attr"`
	Type       string `xml:"type,attr"`
	Path       string `xml:"path,attr"`
}

func (l *list) index() bool { return l.XMLName.Local == "sitemapindex" }

func (l *list) link(rel string) string {
	for _, k := range l.Links {
		if k.Rel == rel {
			return k.Href
		}
	}
	return ""
}

func (w *Witness) list(url, capability string) (*list, error) {
	l, err := document[list](w, url, listType)
	if err != nil {
		return nil, err
	}
	if len(l.MD) != 1 || l.MD[0].Capability != capability {
		return nil, fmt.Errorf("%s: RS-DOC-02, RS-DOC-03: want one rs:md of capability %s", url, capability)
	}
	if capability != "description" && l.link("up") == "" {
		return nil, fmt.Errorf("%s: RS-NAV-01: no link up", url)
	}
	items := l.URLs
	if l.index() {
		items = l.Maps
	}
	for _, i := range items {
		if len(i.Loc) != 1 || len(i.MD) > 1 {
			return nil, fmt.Errorf("%s: RS-DOC-05, RS-DOC-06: want one loc and at most one rs:md", url)
		}
		if len(i.MD) == 0 {
			return nil, fmt.Errorf("%s: %s has no rs:md", url, i.Loc[0])
		}
	}
	return l, nil
}

// CapabilityLists walks from the base URL to the Capability List of every set
// (ResourceSync 1.1 §6.3), by set name.
func (w *Witness) CapabilityLists(base string) (map[string]string, error) {
	sets := map[string]string{}
	var walk func(url string) error
	walk = func(url string) error {
		l, err := w.list(url, "description")
		if err != nil {
			return err
		}
		for _, m := range l.Maps {
			if err := walk(m.Loc[0]); err != nil {
				return err
			}
		}
		for _, u := range l.URLs {
			parts := strings.Split(u.Loc[0], "/")
			sets[parts[len(parts)-2]] = u.Loc[0]
		}
		return nil
	}
	return sets, walk(base + "/.well-known/resourcesync")
}

// capability finds where a Capability List says a capability is.
func (w *Witness) capability(capabilityList, token string) (string, error) {
	l, err := w.list(capabilityList, "capabilitylist")
	if err != nil {
		return "", err
	}
	for _, u := range l.URLs {
		if u.MD[0].Capability == token {
			return u.Loc[0], nil
		}
	}
	return "", fmt.Errorf("%s: no %s", capabilityList, token)
}

// ResourceList folds the newest snapshot of a set and returns its resources by
// URI, and its at.
func (w *Witness) ResourceList(capabilityList string) (resources map[string]Resource, at string, err error) {
	url, err := w.capability(capabilityList, "resourcelist")
	if err != nil {
		return nil, "", err
	}
	top, err := w.list(url, "resourcelist")
	if err != nil {
		return nil, "", err
	}
	at = top.MD[0].At
	resources = map[string]Resource{}
	parts := []*list{top}
	if top.index() {
		parts = nil
		for _, m := range top.Maps {
			p, err := w.list(m.Loc[0], "resourcelist")
			if err != nil {
				return nil, "", err
			}
			if p.MD[0].At != at {
				return nil, "", fmt.Errorf("%s: RS-RL-05: at %s, the index says %s", m.Loc[0], p.MD[0].At, at)
			}
			if p.link("index") == "" {
				return nil, "", fmt.Errorf("%s: RS-NAV-02: a part without a link to its index", m.Loc[0])
			}
			parts = append(parts, p)
		}
	}
	for _, p := range parts {
		for i := range p.URLs {
			u := &p.URLs[i]
			if _, twice := resources[u.Loc[0]]; twice {
				return nil, "", fmt.Errorf("RS-RL-02: %s is listed twice", u.Loc[0])
			}
			if resources[u.Loc[0]], err = u.resource(); err != nil {
				return nil, "", err
			}
			if u.MD[0].Change != "" || u.LastMod > at {
				return nil, "", fmt.Errorf("RS-RL-03: %s has change %q, lastmod %s, at is %s", u.Loc[0], u.MD[0].Change, u.LastMod, at)
			}
		}
	}
	return resources, at, nil
}

func (i *item) resource() (Resource, error) {
	r := Resource{Type: i.MD[0].Type}
	length, err := strconv.ParseInt(i.MD[0].Length, 10, 64)
	if err != nil {
		return r, fmt.Errorf("%s: length: %w", i.Loc[0], err)
	}
	r.Length = length
	for _, h := range strings.Fields(i.MD[0].Hash) {
		if hex, ok := strings.CutPrefix(h, "sha-256:"); ok {
			r.SHA256 = hex
		}
	}
	if len(r.SHA256) != 64 || len(strings.Fields(i.MD[0].Hash)) != 2 {
		return r, fmt.Errorf("%s: RS-DOC-14: hash is %q", i.Loc[0], i.MD[0].Hash)
	}
	return r, nil
}

// Change is one entry of a change list.
type Change struct {
	URI, Kind, Datetime string
	Resource            Resource
}

// ChangeList returns all changes a set's change lists hold, oldest first.
func (w *Witness) ChangeList(capabilityList string) ([]Change, error) {
	url, err := w.capability(capabilityList, "changelist")
	if err != nil {
		return nil, err
	}
	index, err := w.list(url, "changelist")
	if err != nil {
		return nil, err
	}
	if !index.index() || len(index.Maps) == 0 || index.MD[0].Until != "" {
		return nil, fmt.Errorf("%s: want an open index with a list", url)
	}
	if index.MD[0].From != index.Maps[0].MD[0].From {
		return nil, fmt.Errorf("%s: RS-CL-13: from is %s, its first list's %s", url, index.MD[0].From, index.Maps[0].MD[0].From)
	}
	var changes []Change
	until := index.MD[0].From
	for n, m := range index.Maps {
		if m.MD[0].From != until || m.MD[0].Until == "" != (n == len(index.Maps)-1) {
			return nil, fmt.Errorf("%s: RS-CL-12: list %d is [%s, %s], the one before ends at %s", url, n+1, m.MD[0].From, m.MD[0].Until, until)
		}
		until = m.MD[0].Until
		l, err := w.list(m.Loc[0], "changelist")
		if err != nil {
			return nil, err
		}
		// The open list may have been closed between the two requests.
		if l.MD[0].From != m.MD[0].From || m.MD[0].Until != "" && l.MD[0].Until != m.MD[0].Until {
			return nil, fmt.Errorf("%s: RS-CL-11: is [%s, %s], its index says [%s, %s]", m.Loc[0], l.MD[0].From, l.MD[0].Until, m.MD[0].From, m.MD[0].Until)
		}
		if changes, err = l.changes(m.Loc[0], changes); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

func (l *list) changes(url string, changes []Change) ([]Change, error) {
	last := ""
	for i := range l.URLs {
		u := &l.URLs[i]
		c := Change{URI: u.Loc[0], Kind: u.MD[0].Change, Datetime: u.MD[0].Datetime}
		if c.Datetime < last {
			return nil, fmt.Errorf("%s: RS-CL-01: %s is after %s", url, c.Datetime, last)
		}
		last = c.Datetime
		if c.Datetime <= l.MD[0].From && c.Datetime != "" && len(changes) > 0 || l.MD[0].Until != "" && c.Datetime >= l.MD[0].Until {
			return nil, fmt.Errorf("%s: RS-CL-05: %s lies on or outside [%s, %s]", url, c.Datetime, l.MD[0].From, l.MD[0].Until)
		}
		switch c.Kind {
		case "created", "updated":
			var err error
			if c.Resource, err = u.resource(); err != nil {
				return nil, err
			}
		case "deleted":
			if u.MD[0].Hash != "" || u.MD[0].Length != "" || u.MD[0].Type != "" {
				return nil, fmt.Errorf("%s: RS-CL-09: the deletion of %s has a hash, length or type", url, c.URI)
			}
		default:
			return nil, fmt.Errorf("%s: RS-CL-03: change is %q", url, c.Kind)
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// Apply folds the changes later than after (all, when it is "") into resources.
// Kinds must fit what is there.
func Apply(resources map[string]Resource, changes []Change, after string) error {
	for _, c := range changes {
		if after != "" && c.Datetime <= after {
			continue
		}
		_, there := resources[c.URI]
		if there == (c.Kind == "created") {
			return fmt.Errorf("%s is %s at %s, and was there: %v", c.URI, c.Kind, c.Datetime, there)
		}
		if c.Kind == "deleted" {
			delete(resources, c.URI)
		} else {
			resources[c.URI] = c.Resource
		}
	}
	return nil
}
