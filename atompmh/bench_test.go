package atompmh

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"testing"

	"gateway/model"
	"gateway/model/modeltest"
)

// logOf is a log of n changes as repositories have them: a title with some
// markup in it, two representations, a file, a collection and a link.
func logOf(n int) *modeltest.Log {
	l := modeltest.New("theses", "https://repository.example/gateway")
	l.Set.Policy.SegmentSize = n
	for i := range n {
		dc := modeltest.Text(model.Representation, "oai_dc.xml", "application/xml", fmt.Sprint("dc", i))
		dc.Profile = "http://www.openarchives.org/OAI/2.0/oai_dc/"
		l.Commit(model.Record{
			Identifier: fmt.Sprintf("oai:repository.example:theses/%d", i),
			State: model.State{
				Title:       fmt.Sprintf("On the flow of rivers & the age of stones, volume %d", i),
				Collections: []string{"theses"},
				Links:       []model.Link{{Rel: "describedby", Href: fmt.Sprintf("https://repository.example/landing/%d", i), Type: "text/html"}},
				Resources: []model.Resource{
					dc,
					modeltest.Text(model.Representation, "record.json", "application/json", fmt.Sprint("json", i)),
					modeltest.Text(model.File, "thesis.pdf", "application/pdf", fmt.Sprint("pdf", i)),
				},
			},
		})
	}
	return l
}

func perEntry(b *testing.B, entries, size int) {
	b.SetBytes(int64(size))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(entries), "ns/entry")
	b.ReportMetric(float64(size)/float64(entries), "B/entry")
}

// BenchmarkSubscription renders a whole subscription document from a log in
// memory, into memory that is there already.
func BenchmarkSubscription(b *testing.B) {
	for _, n := range []int{1_000, 2_000} {
		b.Run(fmt.Sprintf("%d entries", n), func(b *testing.B) {
			l := logOf(n)
			v := l.View(l.Head(), 0)
			var doc []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if doc, err = AppendSubscription(context.Background(), doc[:0], l, &v); err != nil {
					b.Fatal(err)
				}
			}
			perEntry(b, n, len(doc))
		})
	}
}

// BenchmarkEntries compares the writer with encoding/xml on the same 1,000
// entries.
func BenchmarkEntries(b *testing.B) {
	const n = 1_000
	l := logOf(n)
	at := place{base: l.Epoch.BaseURL, set: l.Set.Name}
	b.Run("appended", func(b *testing.B) {
		var doc []byte
		b.ReportAllocs()
		for b.Loop() {
			doc = doc[:0]
			for p := range model.Position(n) {
				doc = appendEntry(doc, at, l.At(p+1))
			}
		}
		perEntry(b, n, len(doc))
	})
	b.Run("encoding_xml", func(b *testing.B) {
		var doc bytes.Buffer
		b.ReportAllocs()
		for b.Loop() {
			doc.Reset()
			e := xml.NewEncoder(&doc)
			e.Indent("  ", "  ")
			for p := range model.Position(n) {
				if err := e.Encode(oracleOf(at, l.At(p+1))); err != nil {
					b.Fatal(err)
				}
			}
		}
		perEntry(b, n, doc.Len())
	})
}

// oracle is an entry as encoding/xml writes it.
type oracle struct {
	XMLName    xml.Name         `xml:"entry"`
	ID         string           `xml:"id"`
	Title      string           `xml:"title"`
	Updated    string           `xml:"updated"`
	Categories []oracleCategory `xml:"category"`
	Links      []oracleLink     `xml:"link"`
}

type oracleCategory struct {
	Term string `xml:"term,attr"`
}

type oracleLink struct {
	Rel      string `xml:"rel,attr"`
	Href     string `xml:"href,attr"`
	Type     string `xml:"type,attr,omitempty"`
	Hreflang string `xml:"hreflang,attr,omitempty"`
	Length   *int64 `xml:"length,attr,omitempty"`
}

func oracleOf(at place, c *model.Change) *oracle {
	o := &oracle{ID: c.Identifier, Title: c.Title, Updated: c.Time.String()}
	for _, term := range c.Collections {
		o.Categories = append(o.Categories, oracleCategory{term})
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		rel := "alternate"
		if r.Role == model.File {
			rel = "enclosure"
		}
		o.Links = append(o.Links, oracleLink{
			Rel: rel, Href: string(model.AppendResourceURI(nil, at.base, at.set, c.Record, r.Name)),
			Type: r.MediaType(), Hreflang: r.Hreflang, Length: &r.Content.Length,
		})
	}
	for _, l := range c.Links {
		o.Links = append(o.Links, oracleLink{Rel: l.Rel, Href: l.Href, Type: l.Type})
	}
	return o
}

// TestOracle keeps the two sides of BenchmarkEntries equal, up to the form of
// empty elements.
func TestOracle(t *testing.T) {
	l := logOf(3)
	at := place{base: l.Epoch.BaseURL, set: l.Set.Name}
	for p := range model.Position(3) {
		want, err := xml.MarshalIndent(oracleOf(at, l.At(p+1)), "  ", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want = bytes.ReplaceAll(want, []byte("></link>"), []byte("/>"))
		want = bytes.ReplaceAll(want, []byte("></category>"), []byte("/>"))
		if got := appendEntry(nil, at, l.At(p+1)); string(got) != string(want)+"\n" {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// TestEntryAllocatesNothing holds the writer to what its benchmark shows.
func TestEntryAllocatesNothing(t *testing.T) {
	l := logOf(1)
	at := place{base: l.Epoch.BaseURL, set: l.Set.Name}
	b := make([]byte, 0, 1<<16)
	if n := testing.AllocsPerRun(100, func() { b = appendEntry(b[:0], at, l.At(1)) }); n != 0 {
		t.Errorf("%v allocations an entry", n)
	}
}
