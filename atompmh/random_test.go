package atompmh_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"gateway/model"
	"gateway/model/modeltest"
)

// TestRandomHistories folds the chain of random histories at every position and
// every number of published segments that can be seen there.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(r, rapid.IntRange(1, 4).Draw(r, "segment size"))
		for range rapid.IntRange(0, 12).Draw(r, "steps") {
			if rapid.IntRange(0, 7).Draw(r, "seal") == 0 {
				w.Seal()
				continue
			}
			w.Clock += model.Time(rapid.IntRange(0, 1_000_000).Draw(r, "pause"))
			w.Commit(drawRecord(r))
		}
		w.everywhere(func() { w.check() })
	})
}

// everywhere moves the world through every position and every number of
// segments published there.
func (w *world) everywhere(visit func()) {
	cut := w.Cut()
	for p := range w.Head() + 1 {
		for n := range len(cut) + 1 {
			if n > 0 && cut[n-1].Last > p {
				break
			}
			w.at(p, model.SegmentNumber(n))
			visit()
		}
	}
}

var (
	texts       = rapid.StringOf(rapid.SampledFrom([]rune("ab <>&\"'\t\n\r]é\u2028\uFFFD𝄞")))
	identifiers = rapid.SampledFrom([]string{"urn:x:1", "urn:x:2", "urn:x:2 ", "http://h/?a=1&b='2'", "urn:x:é"})
	rels        = rapid.SampledFrom([]string{
		"describedby", "via", "alternate", "Alternate", "self", "enclosure", "edit", "prev-archive", "next", "current",
		"http://www.iana.org/assignments/relation/alternate", "http://www.iana.org/assignments/relation/self", "http://x/rel?a&b",
	})
	languages = rapid.SampledFrom([]string{"", "", "en", "de-AT"})
)

// drawRecord draws one of few records, so that histories meet themselves.
func drawRecord(r *rapid.T) model.Record {
	record := model.Record{Identifier: identifiers.Draw(r, "identifier")}
	if rapid.IntRange(0, 3).Draw(r, "delete") == 0 {
		record.Deleted = true
		return record
	}
	record.Title = texts.Draw(r, "title")
	record.Summary = texts.Draw(r, "summary")
	for range rapid.IntRange(0, 2).Draw(r, "collections") {
		record.Collections = append(record.Collections, "c"+texts.Draw(r, "collection"))
	}
	for range rapid.IntRange(0, 2).Draw(r, "links") {
		record.Links = append(record.Links, model.Link{
			Rel: rels.Draw(r, "rel"), Href: "http://x/?a=1&b='2'", Type: rapid.SampledFrom([]string{"", "text/html"}).Draw(r, "type"),
			Hreflang: languages.Draw(r, "hreflang"), Title: texts.Draw(r, "link title"),
		})
	}
	record.Resources = drawResources(r)
	if err := record.Validate(); err != nil {
		r.Fatalf("the test made an invalid record: %v", err)
	}
	return record
}

func drawResources(r *rapid.T) (all []model.Resource) {
	for i := range rapid.IntRange(1, 3).Draw(r, "representations") {
		x := modeltest.Text(model.Representation, fmt.Sprintf("r %d&é", i), "application/xml", rapid.SampledFrom([]string{"a", "bb"}).Draw(r, "content"))
		x.Profile = fmt.Sprintf("http://p/?v=%d&'w'", i)
		x.Hreflang = languages.Draw(r, "hreflang")
		if i > 0 && rapid.Bool().Draw(r, "external") {
			x.Href, x.Content = "http://elsewhere/r&1", model.Content{Length: 12}
		}
		all = append(all, x)
	}
	for i := range rapid.IntRange(0, 2).Draw(r, "files") {
		x := modeltest.Text(model.File, fmt.Sprintf("f+%d.pdf", i), `application/pdf; v="1"`, rapid.SampledFrom([]string{"", "bb"}).Draw(r, "content"))
		x.Hreflang = languages.Draw(r, "hreflang")
		if rapid.Bool().Draw(r, "external") {
			x.Href, x.Content = "http://elsewhere/f?a&b", model.Content{Length: -1}
		}
		all = append(all, x)
	}
	return all
}
