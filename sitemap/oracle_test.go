package sitemap_test

import (
	"encoding/hex"
	"encoding/xml"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gateway/sitemap"
	"gateway/sitemap/sitemaptest"
)

// The types below write, by encoding/xml, what the package writes by hand. They
// are apart from those that read, because a tag with a prefix writes rightly and
// reads back empty.
type oracleRoot struct {
	XMLName xml.Name
	NS      string       `xml:"xmlns,attr"`
	RS      string       `xml:"xmlns:rs,attr"`
	Links   []oracleLink `xml:"rs:ln"`
	MD      oracleMD     `xml:"rs:md"`
	URLs    []oracleURL  `xml:"url"`
}

type oracleURL struct {
	XMLName    xml.Name     `xml:"url"`
	Loc        string       `xml:"loc"`
	LastMod    string       `xml:"lastmod,omitempty"`
	ChangeFreq string       `xml:"changefreq,omitempty"`
	MD         *oracleMD    `xml:"rs:md"`
	Links      []oracleLink `xml:"rs:ln"`
}

type oracleMD struct {
	Capability string `xml:"capability,attr,omitempty"`
	At         string `xml:"at,attr,omitempty"`
	Completed  string `xml:"completed,attr,omitempty"`
	From       string `xml:"from,attr,omitempty"`
	Until      string `xml:"until,attr,omitempty"`
	Change     string `xml:"change,attr,omitempty"`
	DateTime   string `xml:"datetime,attr,omitempty"`
	Hash       string `xml:"hash,attr,omitempty"`
	Length     string `xml:"length,attr,omitempty"`
	Type       string `xml:"type,attr,omitempty"`
	Encoding   string `xml:"encoding,attr,omitempty"`
	Path       string `xml:"path,attr,omitempty"`
}

type oracleLink struct {
	Rel      string `xml:"rel,attr,omitempty"`
	Href     string `xml:"href,attr,omitempty"`
	Pri      string `xml:"pri,attr,omitempty"`
	Modified string `xml:"modified,attr,omitempty"`
	Hash     string `xml:"hash,attr,omitempty"`
	Length   string `xml:"length,attr,omitempty"`
	Type     string `xml:"type,attr,omitempty"`
	Encoding string `xml:"encoding,attr,omitempty"`
	Path     string `xml:"path,attr,omitempty"`
}

func oracleSums(s *sitemap.Sums) (hash, length string) {
	if s.MD5 != nil {
		hash = "md5:" + hex.EncodeToString(s.MD5[:])
	}
	if s.SHA256 != nil {
		if hash != "" {
			hash += " "
		}
		hash += "sha-256:" + hex.EncodeToString(s.SHA256[:])
	}
	if s.Length != nil {
		length = strconv.FormatInt(*s.Length, 10)
	}
	return hash, length
}

func oracleMDOf(m *sitemap.MD) *oracleMD {
	hash, length := oracleSums(&m.Sums)
	return &oracleMD{
		Capability: m.Capability, At: string(m.At), Completed: string(m.Completed), From: string(m.From), Until: string(m.Until),
		Change: m.Change, DateTime: string(m.DateTime), Hash: hash, Length: length,
		Type: m.Type, Encoding: m.Encoding, Path: string(m.Path),
	}
}

func oracleLinksOf(links []sitemap.Link) []oracleLink {
	var out []oracleLink
	for i := range links {
		l := &links[i]
		hash, length := oracleSums(&l.Sums)
		o := oracleLink{Rel: l.Rel, Href: string(l.Href), Modified: string(l.Modified), Hash: hash, Length: length,
			Type: l.Type, Encoding: l.Encoding, Path: string(l.Path)}
		if l.Pri > 0 {
			o.Pri = strconv.Itoa(l.Pri)
		}
		out = append(out, o)
	}
	return out
}

func oracleURLOf(e *sitemap.Entry) oracleURL {
	md := oracleMDOf(&e.MD)
	if *md == (oracleMD{}) {
		md = nil
	}
	return oracleURL{Loc: string(e.Loc), LastMod: string(e.LastMod), ChangeFreq: e.ChangeFreq, MD: md, Links: oracleLinksOf(e.Links)}
}

// FuzzList writes the same list by hand and by encoding/xml, reads both back by
// encoding/xml and compares.
func FuzzList(f *testing.F) {
	f.Add("https://example.org/r/s/1/a%20b.xml", "2026-03-01T08:00:00.000001Z", "application/xml", "describedby", "https://example.org/?a=1&b=2", int64(0), uint8(0xff))
	f.Add("\x00\x1f\xff\xfe", "\r\n\t ", `"&'<>`, "]]>", "\uFFFE\uFFFF𝄞", int64(-1), uint8(0))
	f.Add("\xed\xa0\x80é", "<!--", "--&gt;", "&#0;", "<![CDATA[", int64(1)<<62, uint8(5))
	f.Fuzz(func(t *testing.T, loc, when, mediaType, rel, href string, length int64, which uint8) {
		e := fuzzEntry(loc, when, mediaType, rel, href, &length, which)
		root := sitemap.Root{Links: e.Links, MD: sitemap.MD{Capability: rel, From: []byte(when), Until: []byte(href)}}
		b := sitemap.List.AppendRoot(nil, &root)
		b = sitemap.List.AppendEntry(b, &e)
		b = sitemap.List.AppendEntry(b, &e)
		b = sitemap.List.AppendEnd(b)
		got, err := sitemaptest.Parse(b)
		if err != nil {
			t.Fatalf("%v\n%q", err, b)
		}

		oracle, err := xml.Marshal(oracleRoot{
			XMLName: xml.Name{Local: "urlset"}, NS: sitemaptest.Sitemap, RS: sitemaptest.RS,
			Links: oracleLinksOf(root.Links), MD: *oracleMDOf(&root.MD), URLs: []oracleURL{oracleURLOf(&e), oracleURLOf(&e)},
		})
		if err != nil {
			t.Fatal(err)
		}
		want, err := sitemaptest.Parse(oracle)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-encoding/xml +sitemap\n%s", diff)
		}
	})
}

// fuzzEntry puts the texts where which says, so that every attribute meets each
// of them and none.
func fuzzEntry(loc, when, mediaType, rel, href string, length *int64, which uint8) sitemap.Entry {
	e := sitemap.Entry{Loc: []byte(loc), MD: sitemap.MD{Type: mediaType}}
	link := sitemap.Link{Rel: rel, Href: []byte(href), Pri: int(which)}
	if which&1 != 0 {
		e.LastMod, e.MD.DateTime, link.Modified = []byte(when), []byte(when), []byte(when)
	}
	if which&2 != 0 {
		e.MD.Sums.MD5, link.Sums.MD5 = &md5Sum, &md5Sum
	}
	if which&4 != 0 {
		e.MD.Sums.SHA256, link.Sums.SHA256 = &sha256Sum, &sha256Sum
	}
	if which&8 != 0 {
		e.MD.Sums.Length, link.Sums.Length = length, length
	}
	if which&16 != 0 {
		e.MD.Path, link.Path, e.MD.Encoding, link.Encoding = []byte(href), []byte(loc), rel, mediaType
	}
	if which&32 != 0 {
		e.MD.At, e.MD.Completed, e.ChangeFreq, e.MD.Change = []byte(when), []byte(loc), rel, href
	}
	for range which >> 6 {
		e.Links = append(e.Links, link)
	}
	return e
}
