package atompmh

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"gateway/model"
	"gateway/model/modeltest"
)

// FuzzEscaped holds the escaping to that of encoding/xml, byte for byte.
func FuzzEscaped(f *testing.F) {
	for _, s := range []string{
		"", "plain", `<a href="x">'&'</a>`, "]]>", "\t\n\r", "\x00\x1f\x7f", "é\u2028𝄞", "\xff\xc3", "\uFFFD\uFFFE\uFFFF", "\xed\xa0\x80", "a\xf0\x9d",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		if err := xml.EscapeText(&want, []byte(s)); err != nil {
			t.Fatal(err)
		}
		if got := appendEscaped([]byte("before"), s); string(got) != "before"+want.String() {
			t.Errorf("%q is escaped as %q, encoding/xml has %q", s, got, want.String())
		}
	})
}

// FuzzEntry reads an entry of arbitrary texts with encoding/xml and expects them
// again, what XML cannot carry as U+FFFD; and no more bytes than the log counted
// when it cut the segment.
func FuzzEntry(f *testing.F) {
	f.Add("urn:x:1", "title", "summary", "term", "a name.xml", "application/xml", "http://p/", "en", "http://x/", "via")
	f.Add("urn:x:'&'", "<\r\n>", "\x00", "\xff", "ä", `text/plain; charset="a&b"`, "http://p/?a&b", "x\"y", `"`, "self")
	f.Fuzz(func(t *testing.T, id, title, summary, term, name, mediaType, profile, lang, href, rel string) {
		r := modeltest.Text(model.Representation, name, mediaType, "content")
		r.Profile, r.Hreflang = profile, lang
		external := r
		external.Href = "x" + href
		c := &model.Change{
			Kind: model.Created, Identifier: id, Record: 7, Time: modeltest.Start,
			State: model.State{
				Title: title, Summary: summary, Collections: []string{term}, Resources: []model.Resource{r, external},
				Links: []model.Link{{Rel: rel, Href: href, Type: mediaType, Hreflang: lang, Title: title}},
			},
		}
		b := appendEntry(nil, place{base: "http://h", set: "s"}, c)
		texts, attributes := read(t, b)
		for _, want := range []string{id, title, summary} {
			if want != "" && !texts[carried(want)] {
				t.Errorf("%q is not among the texts of\n%s", want, b)
			}
		}
		want := []string{term, name, r.MediaType(), lang, external.Href}
		if givenRel(rel) != "" {
			want = append(want, href, givenRel(rel))
		}
		for _, want := range want {
			if want == name {
				want = string(model.AppendResourceURI(nil, "http://h", "s", 7, name))
			}
			if want != "" && !attributes[carried(want)] {
				t.Errorf("%q is not among the attributes of\n%s", want, b)
			}
		}
	})
}

// read returns the texts and the values of attributes of the elements in b.
func read(t *testing.T, b []byte) (texts, attributes map[string]bool) {
	texts, attributes = map[string]bool{}, map[string]bool{}
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return texts, attributes
		}
		if err != nil {
			t.Fatalf("ATOM-01 %v in\n%q", err, b)
		}
		switch x := token.(type) {
		case xml.CharData:
			texts[string(x)] = true
		case xml.StartElement:
			for _, a := range x.Attr {
				attributes[a.Value] = true
			}
		}
	}
}

// carried is s with U+FFFD for each byte or character that XML cannot carry.
func carried(s string) string {
	var b strings.Builder
	for _, r := range s {
		clean, _ := model.CleanText(string(r))
		b.WriteString(clean)
	}
	return b.String()
}
