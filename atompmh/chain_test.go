package atompmh_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"gateway/atompmh"
	"gateway/model"
)

// entry is what an entry says, in the order in which it says it.
type entry struct {
	ID, Title, Summary string
	Updated            model.Time
	Deleted            bool
	Categories         []string
	Links              []string
}

// wanted is the entry of a change by the plain reading of docs/format/atom.md.
func wanted(set string, c *model.Change) entry {
	e := entry{ID: c.Identifier, Title: c.Title, Updated: c.Time, Deleted: c.Kind == model.Deleted}
	if c.Title == "" {
		e.Title = c.Identifier
	}
	if e.Deleted {
		return e
	}
	e.Summary = c.Summary
	e.Categories = c.Collections
	for _, r := range c.Resources {
		rel, href, length := "alternate", "", fmt.Sprint(r.Content.Length)
		if r.Role == model.File {
			rel = "enclosure"
		}
		if r.Href != "" {
			href, length = r.Href, ""
			if r.Role == model.Representation {
				rel = "related"
			}
		} else {
			name := strings.ReplaceAll(url.QueryEscape(r.Name), "+", "%20")
			href = fmt.Sprintf("%s/r/%s/%d/%s", base, set, c.Record, name)
		}
		e.Links = append(e.Links, fmt.Sprintf("%s %s %q %s %s %q", rel, href, r.MediaType(), r.Hreflang, length, ""))
	}
	for _, l := range c.Links {
		rel := l.Rel
		switch strings.TrimPrefix(strings.ToLower(rel), "http://www.iana.org/assignments/relation/") {
		case "alternate", "enclosure":
			rel = "related"
		case "self", "edit", "edit-media", "current", "prev-archive", "next-archive", "first", "last", "next", "prev", "previous":
			continue
		}
		e.Links = append(e.Links, fmt.Sprintf("%s %s %q %s %s %q", rel, l.Href, l.Type, l.Hreflang, "", l.Title))
	}
	return e
}

// said is what a parsed entry says.
func said(x *xmlEntry) entry {
	e := entry{ID: x.IDs[0], Title: x.Titles[0], Updated: x.updated(), Deleted: x.deleted()}
	if len(x.Summaries) > 0 {
		e.Summary = x.Summaries[0]
	}
	for _, c := range x.Categories {
		e.Categories = append(e.Categories, c.Term)
	}
	for _, l := range x.Links {
		mediaType := ""
		if l.Type != nil {
			mediaType = *l.Type
		}
		e.Links = append(e.Links, fmt.Sprintf("%s %s %q %s %s %q", l.Rel, l.Href, mediaType, l.Hreflang, l.Length, l.Title))
	}
	return e
}

// document is one document of the chain.
type document struct {
	path string
	*xmlFeed
}

// chain is what a consumer gets that begins with the subscription document and
// follows prev-archive to the end.
func (w *world) chain() (documents []document) {
	w.t.Helper()
	for path := "/atom/rivers"; ; {
		f := w.feed(path)
		if f == nil {
			w.t.Fatalf("PMH-TS-03 at %d/%d there is no %s", w.position, w.published, path)
		}
		d := document{path, f}
		documents = append(documents, d)
		prev := d.link("prev-archive")
		if prev == "" {
			return documents
		}
		path = strings.TrimPrefix(prev, base)
		if len(documents) > len(w.Cut())+1 {
			w.t.Fatalf("PMH-TS-03 at %d/%d the chain does not end", w.position, w.published)
		}
	}
}

// check reads everything public as a stranger would, and checks it whole.
func (w *world) check() {
	w.t.Helper()
	documents := w.chain()
	for i := range documents {
		w.checkFeed(&documents[i])
		if i > 0 {
			w.checkOrder(&documents[i-1], &documents[i])
		}
	}
	w.checkEntries(documents)
	w.checkFold(documents)
	w.checkArchives()
	w.checkComplete()
}

// checkFeed checks what each document has to be by itself.
func (w *world) checkFeed(d *document) {
	w.t.Helper()
	where := fmt.Sprintf("%s at %d/%d", d.path, w.position, w.published)
	if len(d.IDs) != 1 || len(d.Titles) != 1 || len(d.Updated) != 1 || len(d.Authors) != 1 {
		w.t.Errorf("ATOM-03 ATOM-06 %s: ids %q, titles %q, updated %q, authors %v", where, d.IDs, d.Titles, d.Updated, d.Authors)
	}
	if d.updated() == 0 {
		w.t.Errorf("ATOM-05 %s: updated %q", where, d.Updated)
	}
	if d.link("self") != base+d.path {
		w.t.Errorf("ATOM-12 %s: self %q", where, d.link("self"))
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		if len(e.IDs) != 1 || len(e.Titles) != 1 || len(e.Updated) != 1 {
			w.t.Errorf("ATOM-04 %s: ids %q, titles %q, updated %q", where, e.IDs, e.Titles, e.Updated)
		}
		if e.updated() > d.updated() {
			w.t.Errorf("PMH-TS-01 %s: updated %s, entry %s", where, d.Updated, e.Updated)
		}
		w.checkEntry(where, e)
	}
}

func (w *world) checkEntry(where string, e *xmlEntry) {
	w.t.Helper()
	alternates := map[string]bool{}
	for _, l := range e.Links {
		if l.Rel != "alternate" {
			continue
		}
		if l.Type == nil {
			w.t.Errorf("PMH-ACT-06 %s: %s: alternate without type", where, e.id())
			continue
		}
		if key := *l.Type + " " + l.Hreflang; alternates[key] {
			w.t.Errorf("ATOM-10 %s: %s: two alternates %s", where, e.id(), key)
		} else {
			alternates[key] = true
		}
	}
	switch {
	case len(e.Contents) > 0 && !e.deleted():
		w.t.Errorf("PMH-ACT-05 PMH-DEL-06 %s: %s: content %v", where, e.id(), e.Contents)
	case len(e.Contents) == 0 && len(alternates) == 0:
		w.t.Errorf("ATOM-09 PMH-ACT-06 %s: %s: neither content nor alternate", where, e.id())
	}
}

// checkOrder checks a document against the one behind its prev-archive.
func (w *world) checkOrder(referrer, referee *document) {
	w.t.Helper()
	for i := range referrer.Entries {
		if e := &referrer.Entries[i]; e.updated() < referee.updated() {
			w.t.Errorf("PMH-TS-02 at %d/%d: entry %s of %s is older than %s, updated %s",
				w.position, w.published, e.Updated, referrer.path, referee.path, referee.Updated)
		}
	}
}

// checkEntries checks that the chain holds the changes shown, each once, newest
// first, and nothing else.
func (w *world) checkEntries(documents []document) {
	w.t.Helper()
	v := w.view()
	shown, _ := v.Shown()
	var got, want []entry
	for _, d := range documents {
		for i := range d.Entries {
			got = append(got, said(&d.Entries[i]))
		}
	}
	for p := shown; p > 0; p-- {
		want = append(want, wanted(w.Set.Name, w.At(p)))
	}
	if d := cmp.Diff(want, got); d != "" {
		w.t.Fatalf("at %d/%d (-log +chain):\n%s", w.position, w.published, d)
	}
	if shown > 0 && len(documents[0].Entries) == 0 {
		w.t.Errorf("ARCH-06 at %d/%d the subscription document is empty", w.position, w.published)
	}
}

// checkFold checks that the newest entries of the chain are the state of the
// model.
func (w *world) checkFold(documents []document) {
	w.t.Helper()
	newest := map[string]entry{}
	for _, d := range slices.Backward(documents) {
		for i := range d.Entries {
			e := said(&d.Entries[i])
			if was, ok := newest[e.ID]; ok && was.Updated == e.Updated {
				w.t.Errorf("ARCH-12 at %d/%d: two entries %s of %s", w.position, w.published, e.ID, e.Updated)
			}
			if e.Updated > newest[e.ID].Updated {
				newest[e.ID] = e
			}
		}
	}
	for id, e := range newest {
		if e.Deleted {
			delete(newest, id)
		}
	}
	if d := cmp.Diff(w.state(), newest); d != "" {
		w.t.Fatalf("at %d/%d (-model +fold):\n%s", w.position, w.published, d)
	}
}

// state is what is live at the position shown, by identifier.
func (w *world) state() map[string]entry {
	v := w.view()
	shown, _ := v.Shown()
	state := map[string]entry{}
	for c := range w.States(context.Background(), w.Set.ID, shown, 0) {
		state[c.Identifier] = wanted(w.Set.Name, c)
	}
	return state
}

// checkArchives checks every archive document there is, linked or not.
func (w *world) checkArchives() {
	w.t.Helper()
	for _, seg := range w.Cut() {
		path := atompmh.Archive{Set: w.Set.Name, Epoch: 1, Segment: seg.Number}.Path()
		f := w.feed(path)
		if seg.Number > w.published {
			if f != nil {
				w.t.Errorf("at %d/%d there is %s", w.position, w.published, path)
			}
			continue
		}
		d := document{path, f}
		w.checkFeed(&d)
		if len(d.Archive) != 1 || d.Archive[0].Inner != "" {
			w.t.Errorf("ARCH-10 %s: fh:archive %v", path, d.Archive)
		}
		if d.link("current") != base+"/atom/rivers" {
			w.t.Errorf("ARCH-09 %s: current %q", path, d.link("current"))
		}
		prev, next := "", ""
		if seg.Number > 1 {
			prev = fmt.Sprintf("%s/atom/rivers/1/archive/%d", base, seg.Number-1)
		}
		if seg.Number < w.published {
			next = fmt.Sprintf("%s/atom/rivers/1/archive/%d", base, seg.Number+1)
		}
		if d.link("prev-archive") != prev || d.link("next-archive") != next {
			w.t.Errorf("ARCH-07 ARCH-08 %s at %d/%d: prev-archive %q, next-archive %q, want %q and %q",
				path, w.position, w.published, d.link("prev-archive"), d.link("next-archive"), prev, next)
		}
		if len(d.Entries) != int(seg.Last-seg.First+1) || d.updated() != seg.Until-1 {
			w.t.Errorf("ARCH-11 %s at %d/%d: %d entries, updated %s", path, w.position, w.published, len(d.Entries), d.Updated)
		}
	}
}

// checkComplete checks the complete feed against the model.
func (w *world) checkComplete() {
	w.t.Helper()
	d := document{"/atom/rivers/complete", w.feed("/atom/rivers/complete")}
	w.checkFeed(&d)
	live := map[string]entry{}
	for i := range d.Entries {
		e := said(&d.Entries[i])
		if _, ok := live[e.ID]; ok || e.Deleted {
			w.t.Errorf("PMH-CMP-02 at %d/%d: %s again, or deleted", w.position, w.published, e.ID)
		}
		live[e.ID] = e
		if i > 0 && e.Updated >= d.Entries[i-1].updated() {
			w.t.Errorf("at %d/%d: the complete feed is not newest first", w.position, w.published)
		}
	}
	if d := cmp.Diff(w.state(), live); d != "" {
		w.t.Fatalf("PMH-CMP-01 at %d/%d (-model +complete):\n%s", w.position, w.published, d)
	}
	if len(d.Complete) != 1 || d.Complete[0].Inner != "" || d.IDs[0] != w.Set.CompleteID {
		w.t.Errorf("ARCH-01 %s: fh:complete %v, id %s", d.path, d.Complete, d.IDs)
	}
}
