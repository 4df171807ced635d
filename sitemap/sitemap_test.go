package sitemap_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"gateway/sitemap"
	"gateway/sitemap/sitemaptest"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	md5Sum    = [16]byte{0x31, 0x3c, 0x7d, 0x72, 0x6c, 0x4c, 0xc2, 0xbb, 0x6f, 0x1f, 0x2c, 0xc1, 0xf7, 0x8d, 0x4a, 0x02}
	sha256Sum = [32]byte{0x20, 0xe3, 0x24, 0xdb, 31: 0xd9}
	length    = int64(128)
	noLength  = int64(0)
	sums      = sitemap.Sums{MD5: &md5Sum, SHA256: &sha256Sum, Length: &length}
	march     = []byte("2026-03-01T08:00:00.000001Z")
	later     = []byte("2026-03-02T00:00:00.000000Z")
)

// everything is a list and an index that use all that the package can say.
func everything() []byte {
	b := sitemap.List.AppendRoot(nil, &sitemap.Root{
		Links: []sitemap.Link{
			{Rel: "up", Href: []byte("https://example.org/rs/rivers/capabilitylist.xml")},
			{Rel: "describedby", Href: []byte("https://example.org/about?a=1&b=2"), Type: "text/html"},
		},
		MD: sitemap.MD{Capability: "changedump-manifest", From: march, Until: later},
	})
	b = sitemap.List.AppendEntry(b, &sitemap.Entry{Loc: []byte("https://example.org/r/rivers/1")})
	b = sitemap.List.AppendEntry(b, &sitemap.Entry{
		Loc: []byte("https://example.org/r/rivers/1/a.xml"), LastMod: march, ChangeFreq: "never",
		MD: sitemap.MD{Change: "created", DateTime: march, Sums: sums, Type: "application/xml", Encoding: "gzip", Path: []byte(`/1/"a" <b>&c.xml`)},
		Links: []sitemap.Link{
			{Rel: "profile", Href: []byte("https://example.org/ns/river")},
			{Rel: "duplicate", Href: []byte("https://mirror.example.net/a.xml"), Pri: 1, Modified: later, Sums: sums,
				Type: "application/xml", Encoding: "gzip", Path: []byte("/1/a")},
		},
	})
	b = sitemap.List.AppendEntry(b, &sitemap.Entry{
		Loc: []byte("https://example.org/r/rivers/2/empty"), MD: sitemap.MD{Sums: sitemap.Sums{SHA256: &sha256Sum, Length: &noLength}},
	})
	return sitemap.List.AppendEnd(b)
}

func index() []byte {
	b := sitemap.Index.AppendRoot(nil, &sitemap.Root{MD: sitemap.MD{Capability: "resourcelist", At: march, Completed: later}})
	b = sitemap.Index.AppendEntry(b, &sitemap.Entry{Loc: []byte("https://example.org/1.xml"), LastMod: march, MD: sitemap.MD{At: march}})
	return sitemap.Index.AppendEnd(b)
}

func plain() []byte {
	b := sitemap.Index.AppendRoot(nil, &sitemap.Root{Plain: true})
	b = sitemap.Index.AppendEntry(b, &sitemap.Entry{Loc: []byte("https://example.org/1.xml"), LastMod: march})
	return sitemap.Index.AppendEnd(b)
}

func TestGolden(t *testing.T) {
	for name, got := range map[string][]byte{"list": everything(), "index": index(), "plain": plain()} {
		t.Run(name, func(t *testing.T) {
			file := "testdata/" + name + ".golden.xml"
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestDocuments(t *testing.T) {
	sitemaptest.Check(t, everything())
	sitemaptest.Check(t, index())
	t.Run("RS-DOC-09 valid by the schema", func(t *testing.T) {
		sitemaptest.Validate(t, everything(), index(), plain())
	})
}

// What XML gives a meaning to, what parsers normalise and what XML cannot carry.
func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		`a&b<c>d"e'f`:       `a&b<c>d"e'f`,
		"]]>":               "]]>",
		"\t\n\r\r\n":        "\t\n\r\r\n",
		"Zoë 東京 𝄞":          "Zoë 東京 𝄞",
		"\u0085\u2028":      "\u0085\u2028",
		"a\x00b\x1fc\x0bd":  "a\uFFFDb\uFFFDc\uFFFDd",
		"\uFFFE\uFFFF":      "\uFFFD\uFFFD",
		"\xff\xc3":          "\uFFFD\uFFFD",
		"\xed\xa0\x80":      "\uFFFD\uFFFD\uFFFD", // a surrogate is no UTF-8
		"e\u0301 ≠ \u00e9":  "e\u0301 ≠ \u00e9",
		"\x7f\uFFFD\u00a0z": "\x7f\uFFFD\u00a0z",
	} {
		e := sitemap.Entry{Loc: []byte(in), MD: sitemap.MD{Path: []byte(in)}, Links: []sitemap.Link{{Rel: in}}}
		b := sitemap.List.AppendRoot(nil, &sitemap.Root{})
		b = sitemap.List.AppendEnd(sitemap.List.AppendEntry(b, &e))
		d, err := sitemaptest.Parse(b)
		if err != nil {
			t.Errorf("%q: %v\n%s", in, err, b)
			continue
		}
		if got := d.URLs[0]; got.URI() != want || got.MD[0].Path != want || got.Links[0].Rel != want {
			t.Errorf("%q came back as %q, %q, %q", in, got.URI(), got.MD[0].Path, got.Links[0].Rel)
		}
	}
}

func TestAllocations(t *testing.T) {
	b := make([]byte, 0, 4096)
	e := benchmarkEntry()
	odd := sitemap.Entry{Loc: []byte("https://example.org/a&b\x00é"), Links: []sitemap.Link{{Rel: "a\"b\xffé", Href: []byte("\r\n")}}}
	allocs := testing.AllocsPerRun(100, func() {
		b = sitemap.List.AppendEntry(b[:0], &e)
		b = sitemap.List.AppendEntry(b, &odd)
	})
	if allocs != 0 {
		t.Errorf("%v allocations for two entries", allocs)
	}
}
