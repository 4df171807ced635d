package resourcesync

import (
	"iter"

	"gateway/model"
	"gateway/sitemap"
)

// entries makes the entries of lists of one set. Its memory is reused from entry
// to entry.
type entries struct {
	base, set string
	entry     sitemap.Entry
	text      []byte // the URIs and times that entry holds
}

func entriesOf(v *model.View) entries { return entries{base: v.Epoch.BaseURL, set: v.Set.Name} }

// states yields each resource of a live record with its entry (ResourceSync 1.1
// §10.1). Entries are valid until the next step.
func (e *entries) states(c *model.Change) iter.Seq2[*model.Resource, *sitemap.Entry] {
	return func(yield func(*model.Resource, *sitemap.Entry) bool) {
		for i := range c.Resources {
			r := &c.Resources[i]
			if r.External() {
				continue
			}
			e.resource(c, r)
			if !yield(r, &e.entry) {
				return
			}
		}
	}
}

// changes yields an entry for each resource that c created or updated, with the
// resource, and for each that it deleted, with nil (§12.1). Each has lastmod
// beside datetime, for readers of ResourceSync 1.0. Entries are valid until the
// next step.
func (e *entries) changes(c *model.Change) iter.Seq2[*model.Resource, *sitemap.Entry] {
	return func(yield func(*model.Resource, *sitemap.Entry) bool) {
		for i := range c.Resources {
			r := &c.Resources[i]
			if r.Kind == model.Same || r.External() {
				continue
			}
			e.resource(c, r)
			e.entry.MD.Change, e.entry.MD.DateTime = r.Kind.String(), e.time(c.Time)
			if !yield(r, &e.entry) {
				return
			}
		}
		for i := range c.Dropped {
			d := &c.Dropped[i]
			if d.External {
				continue
			}
			e.begin(c, d.Name, c.Time)
			e.entry.MD = sitemap.MD{Change: model.Deleted.String(), DateTime: e.entry.LastMod}
			if !yield(nil, &e.entry) {
				return
			}
		}
	}
}

// begin starts the next entry, with what every entry has.
func (e *entries) begin(c *model.Change, name string, lastmod model.Time) {
	e.text = e.text[:0]
	e.entry.Loc, e.entry.LastMod = e.uri(c, name), e.time(lastmod)
	e.entry.Links = e.entry.Links[:0]
}

// resource makes the entry of r as c left it.
func (e *entries) resource(c *model.Change, r *model.Resource) {
	e.begin(c, r.Name, r.Time)
	e.entry.MD = sitemap.MD{Type: model.BaseType(r.Type), Sums: sums(&r.Content)}
	e.describe(c, r)
	if r.Profile != "" {
		e.link("profile", e.kept(append(e.text, r.Profile...)))
	}
}

// describe links the representation that describes the record's files with each
// of them, in both directions (§14.5).
func (e *entries) describe(c *model.Change, r *model.Resource) {
	describing := c.Describing()
	switch {
	case describing == nil:
	case r.Role == model.File:
		e.link("describedby", e.uri(c, describing.Name))
	case r == describing:
		files := c.Files()
		for i := range files {
			if !files[i].External() {
				e.link("describes", e.uri(c, files[i].Name))
			}
		}
	}
}

func (e *entries) link(rel string, href []byte) {
	e.entry.Links = append(e.entry.Links, sitemap.Link{Rel: rel, Href: href})
}

func (e *entries) uri(c *model.Change, name string) []byte {
	return e.kept(model.AppendResourceURI(e.text, e.base, e.set, c.Record, name))
}

func (e *entries) time(t model.Time) []byte { return e.kept(t.Append(e.text)) }

// kept takes text, which is e.text with something appended, and returns what was
// appended. It stays valid until the next begin, even where text grows.
func (e *entries) kept(text []byte) []byte {
	n := len(e.text)
	e.text = text
	return text[n:len(text):len(text)]
}

// sums points into c. A sum that nobody took is zero and is not published.
func sums(c *model.Content) sitemap.Sums {
	s := sitemap.Sums{Length: &c.Length}
	if c.MD5 != [16]byte{} {
		s.MD5 = &c.MD5
	}
	if c.SHA256 != [32]byte{} {
		s.SHA256 = &c.SHA256
	}
	return s
}
