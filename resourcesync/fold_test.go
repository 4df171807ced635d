package resourcesync_test

import (
	"context"
	"encoding/hex"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gateway/model"
	"gateway/resourcesync"
	"gateway/sitemap/sitemaptest"
)

// resource is what a destination knows of a resource.
type resource struct {
	LastMod, Hash, Length, Type, Profile string
}

// copyOfSet is what a destination holds, by URI.
type copyOfSet map[string]resource

// modelAt is the set at p as the log has it.
func (w *world) modelAt(p model.Position) copyOfSet {
	if set := w.models[p]; set != nil {
		return set
	}
	set := copyOfSet{}
	w.models[p] = set
	for c := range w.States(context.Background(), w.Set.ID, p, 0) {
		for i := range c.Resources {
			r := &c.Resources[i]
			if r.External() {
				continue
			}
			set[string(model.AppendResourceURI(nil, base, w.Set.Name, c.Record, r.Name))] = resource{
				LastMod: r.Time.String(),
				Hash:    "md5:" + hex.EncodeToString(r.Content.MD5[:]) + " sha-256:" + hex.EncodeToString(r.Content.SHA256[:]),
				Length:  strconv.FormatInt(r.Content.Length, 10), Type: model.BaseType(r.Type), Profile: r.Profile,
			}
		}
	}
	return set
}

func resourceOf(e *sitemaptest.Entry) resource {
	m := e.About()
	return resource{LastMod: e.LastMod, Hash: m.Hash, Length: m.Length, Type: m.Type, Profile: e.Link("profile")}
}

// list adds the entries of a Resource List or of the parts of its index.
func (w *world) list(set copyOfSet, path string) {
	w.t.Helper()
	d := w.parse(path)
	if d.Index() {
		for _, part := range d.Parts {
			w.list(set, strings.TrimPrefix(part.URI(), base))
		}
		return
	}
	for i := range d.URLs {
		e := &d.URLs[i]
		if _, twice := set[e.URI()]; twice {
			w.t.Errorf("%s is listed twice", e.URI())
		}
		set[e.URI()] = resourceOf(e)
	}
}

// apply folds the entries of a Change List later than after into set, strictly.
func apply(t testing.TB, set copyOfSet, d *sitemaptest.Document, after string) {
	t.Helper()
	for i := range d.URLs {
		e := &d.URLs[i]
		m := e.About()
		if m.DateTime <= after { // of one width, so they sort as text
			continue
		}
		_, known := set[e.URI()]
		switch {
		case m.Change == "created" && !known, m.Change == "updated" && known:
			set[e.URI()] = resourceOf(e)
		case m.Change == "deleted" && known:
			delete(set, e.URI())
		default:
			t.Errorf("%s of %s, known %v", m.Change, e.URI(), known)
		}
	}
}

func (w *world) parse(path string) *sitemaptest.Document {
	w.t.Helper()
	b := w.get(path)
	if d := w.parsed[string(b)]; d != nil {
		return d
	}
	d, err := sitemaptest.Parse(b)
	w.must(err)
	w.parsed[string(b)] = d
	return d
}

// changeLists are the lists that the Change List Index names, in its order. The
// index is checked against them.
func (w *world) changeLists() []*sitemaptest.Document {
	w.t.Helper()
	index := w.parse(resourcesync.ChangeListIndexPath(w.Set.Name))
	if !index.Index() || len(index.Parts) == 0 || index.MD[0].Until != "" {
		w.t.Fatalf("not an open index: %+v", index)
	}
	var lists []*sitemaptest.Document
	from := index.MD[0].From
	for i := range index.Parts {
		named := index.Parts[i].About()
		d := w.parse(strings.TrimPrefix(index.Parts[i].URI(), base))
		if d.Index() || d.MD[0].From != named.From || d.MD[0].Until != named.Until {
			w.t.Errorf("list %d is %+v, named as %+v", i, d.MD[0], named)
		}
		if named.From != from {
			w.t.Errorf("list %d begins at %s, the one before it ends at %s", i, named.From, from)
		}
		if open := i == len(index.Parts)-1; open != (named.Until == "") {
			w.t.Errorf("list %d of %d: until %q", i, len(index.Parts), named.Until)
		}
		w.checkOrder(d)
		from = named.Until
		lists = append(lists, d)
	}
	return lists
}

// checkOrder wants rising times strictly within the list's interval, and no
// resource twice at one time.
func (w *world) checkOrder(d *sitemaptest.Document) {
	w.t.Helper()
	last := d.MD[0].From
	seen := map[string]bool{}
	for i := range d.URLs {
		e := &d.URLs[i]
		at := e.About().DateTime
		if at < last || at <= d.MD[0].From || d.MD[0].Until != "" && at >= d.MD[0].Until {
			w.t.Errorf("%s at %s after %s in [%s, %s]", e.URI(), at, last, d.MD[0].From, d.MD[0].Until)
		}
		last = at
		if key := e.URI() + " " + at; seen[key] {
			w.t.Errorf("twice: %s", key)
		} else {
			seen[key] = true
		}
	}
}

// checkFolds compares with the model what a destination has that begins with
// nothing, and one that begins with each of the given snapshots.
func (w *world) checkFolds(snapshots []snapshotCopy) {
	w.t.Helper()
	v := w.view()
	shown, _ := v.Shown()
	lists := w.changeLists()
	all := copyOfSet{}
	for _, d := range lists {
		apply(w.t, all, d, "")
	}
	if want := w.modelAt(shown); !maps.Equal(want, all) {
		w.t.Errorf("at (%d, %d) all change lists, -model +fold\n%s", w.position, w.published, cmp.Diff(want, all))
	}
	for _, s := range snapshots {
		if s.position > w.position {
			continue
		}
		set := maps.Clone(s.set)
		for _, d := range lists {
			apply(w.t, set, d, s.at)
		}
		if want := w.modelAt(max(shown, s.position)); !maps.Equal(want, set) {
			w.t.Errorf("at (%d, %d) from the snapshot at %d, -model +fold\n%s", w.position, w.published, s.position, cmp.Diff(want, set))
		}
	}
}

// snapshotCopy is a Resource List as a destination got it.
type snapshotCopy struct {
	position model.Position
	at       string
	set      copyOfSet
}

// copySnapshot takes a snapshot at p and reads it over HTTP.
func (w *world) copySnapshot(p model.Position, at model.Time) snapshotCopy {
	w.t.Helper()
	w.takeSnapshot(p, at)
	path := resourcesync.ResourceListPath(w.Set.Name)
	s := snapshotCopy{position: p, at: w.parse(path).MD[0].At, set: copyOfSet{}}
	w.list(s.set, path)
	if dumped, at := w.dumped(); at != s.at || !maps.Equal(dumped, s.set) {
		w.t.Errorf("the resource dump at %s, the list at %s, -list +dump\n%s", at, s.at, cmp.Diff(s.set, dumped))
	}
	return s
}
