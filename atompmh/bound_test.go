package atompmh

import (
	"strconv"
	"strings"
	"testing"

	"gateway/model"
	"gateway/model/modeltest"
)

// TestEntryWithinBound holds the writer to what the log counts for a change when
// it decides where to cut: no valid record may need more.
func TestEntryWithinBound(t *testing.T) {
	long := func(prefix, fill string, size int) string {
		return prefix + strings.Repeat(fill, (size-len(prefix))/len(fill))
	}
	lang := "a" + strings.Repeat("-b1234567", 7)
	state := func(n int, change func(i int, r *model.Resource)) (s model.State) {
		for i := range n {
			r := modeltest.Text(model.Representation, strconv.Itoa(i), "a/b", "")
			change(i, &r)
			s.Resources = append(s.Resources, r)
		}
		return s
	}
	links := func(n int, l model.Link) model.State {
		s := state(1, func(int, *model.Resource) {})
		for range n {
			s.Links = append(s.Links, l)
		}
		return s
	}
	same := func(s model.State) model.State {
		for i := range s.Resources {
			s.Resources[i].Kind = model.Same
		}
		return s
	}
	texts := state(1, func(int, *model.Resource) {})
	texts.Title, texts.Summary = long("", "<", 16<<10), long("", "\r", 64<<10)
	for range 450 {
		texts.Collections = append(texts.Collections, long("", "'", 2000))
	}
	for name, s := range map[string]model.State{
		"least": state(1, func(int, *model.Resource) {}),
		"texts": texts,
		"names": state(100, func(i int, r *model.Resource) {
			r.Name, r.Type = strings.Repeat("ä", 120)+strconv.Itoa(i), r.Type+strconv.Itoa(i)
		}),
		"languages": state(100, func(i int, r *model.Resource) { r.Hreflang = lang[:40] + strconv.Itoa(i) }),
		"types": state(100, func(i int, r *model.Resource) {
			r.Type = `a/b; x="` + strings.Repeat("&", 200) + `"` + strconv.Itoa(i)
		}),
		"profiles": state(100, func(i int, r *model.Resource) { r.Profile = long("x:"+strconv.Itoa(i), "&", 1900) }),
		"lengths":  state(100, func(i int, r *model.Resource) { r.Content.Length = 1 << 62; r.Type += strconv.Itoa(i) }),
		"external": state(100, func(i int, r *model.Resource) {
			r.Type += strconv.Itoa(i)
			if i > 0 {
				r.Href = long("x:", "&", 1900)
			}
		}),
		"short links":        links(1000, model.Link{Rel: "via", Href: "x:y"}),
		"long links":         links(200, model.Link{Rel: long("x:", "&", 1900), Href: long("x:", "'", 1900), Type: "a/b", Hreflang: lang, Title: long("", "&", 1000)}),
		"languages of links": links(1000, model.Link{Rel: "via", Href: "x:y", Type: "a/b", Hreflang: lang, Title: "t"}),
	} {
		t.Run(name, func(t *testing.T) {
			r := model.Record{Identifier: long("x:", "&", model.MaxIdentifier), State: s}
			if err := r.Validate(); err != nil {
				t.Fatalf("the test made an invalid record: %v", err)
			}
			at := place{base: long("http://h/", "b", model.MaxBaseURL), set: strings.Repeat("s", 64)}
			c := &model.Change{Kind: model.Updated, Identifier: r.Identifier, Record: 1 << 62, Time: modeltest.Start, State: same(s)}
			if got, bound, most := len(appendEntry(nil, at, c)), model.Bound(c).Bytes, (model.Limits{}).WithDefaults().Bytes; got > bound || bound > most {
				t.Errorf("an entry of %d bytes, the bound is %d", got, bound)
			}
			c.Kind, c.Resources = model.Deleted, nil
			if got, bound := len(appendEntry(nil, at, c)), model.Bound(c).Bytes; got > bound {
				t.Errorf("a deletion of %d bytes, the bound is %d", got, bound)
			}
		})
	}
}
