package sitemap_test

import (
	"bytes"
	"encoding/xml"
	"testing"

	"gateway/sitemap"
)

// benchmarkEntry is the load of the benchmarks: loc, lastmod, md5, sha-256,
// length, type and one rs:ln.
func benchmarkEntry() sitemap.Entry {
	return sitemap.Entry{
		Loc:     []byte("https://repository.example.org/r/theses/1234567/oai_dc.xml"),
		LastMod: march,
		MD:      sitemap.MD{Sums: sums, Type: "application/xml"},
		Links:   []sitemap.Link{{Rel: "describes", Href: []byte("https://repository.example.org/r/theses/1234567/thesis.pdf")}},
	}
}

const perOp = 1000 // entries

// BenchmarkEntry compares the writer with encoding/xml, at its best: values made
// beforehand, one encoder, into memory.
func BenchmarkEntry(b *testing.B) {
	e := benchmarkEntry()
	b.Run("sitemap", func(b *testing.B) {
		var out []byte
		b.ReportAllocs()
		for b.Loop() {
			out = out[:0]
			for range perOp {
				out = sitemap.List.AppendEntry(out, &e)
			}
		}
		report(b, len(out))
	})
	b.Run("encoding/xml", func(b *testing.B) {
		var out bytes.Buffer
		o := oracleURLOf(&e)
		b.ReportAllocs()
		for b.Loop() {
			out.Reset()
			enc := xml.NewEncoder(&out)
			for range perOp {
				if err := enc.Encode(&o); err != nil {
					b.Fatal(err)
				}
			}
		}
		report(b, out.Len())
	})
}

func report(b *testing.B, bytesPerOp int) {
	b.SetBytes(int64(bytesPerOp))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/perOp, "ns/record")
}
