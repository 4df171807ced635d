package ingest

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelfToVia(t *testing.T) {
	const ns = `xmlns="http://www.w3.org/2005/Atom"`
	for _, c := range []struct{ name, doc, want string }{
		{"plain", `<entry ` + ns + `><link rel="self" href="a"/></entry>`, `<entry ` + ns + `><link rel="via" href="a"/></entry>`},
		{"byte for byte otherwise", "<?xml version='1.0'?>\r\n<!-- self -->\n<entry " + ns + " >\n <link\thref='rel=\"self\"'  rel = 'self' ></link >&amp;<![CDATA[<link rel='self'/>]]>\n</entry>\n<!-- end -->",
			"<?xml version='1.0'?>\r\n<!-- self -->\n<entry " + ns + " >\n <link\thref='rel=\"self\"'  rel = 'via' ></link >&amp;<![CDATA[<link rel='self'/>]]>\n</entry>\n<!-- end -->"},
		{"every one", `<entry ` + ns + `><link rel="self" href="a"/><link rel="alternate" href="b"/><link href="c" rel="self"/></entry>`,
			`<entry ` + ns + `><link rel="via" href="a"/><link rel="alternate" href="b"/><link href="c" rel="via"/></entry>`},
		{"prefix", `<a:entry xmlns:a="http://www.w3.org/2005/Atom"><a:link a:rel="self" rel="self"/><link rel="self"/></a:entry>`,
			`<a:entry xmlns:a="http://www.w3.org/2005/Atom"><a:link a:rel="self" rel="via"/><link rel="self"/></a:entry>`},
		{"spelt by references", `<entry ` + ns + `><link rel="&#115;elf" href=">"/></entry>`, `<entry ` + ns + `><link rel="via" href=">"/></entry>`},
		{"spelt as an IRI", `<entry ` + ns + `><link rel="http://www.iana.org/assignments/relation/self"/></entry>`, `<entry ` + ns + `><link rel="via"/></entry>`},
		{"latin-1", "<?xml version='1.0' encoding='ISO-8859-1'?><entry " + ns + "><title>\xe9</title><link title='\xe9' rel='self'/></entry>",
			"<?xml version='1.0' encoding='ISO-8859-1'?><entry " + ns + "><title>\xe9</title><link title='\xe9' rel='via'/></entry>"},
		{"byte order mark", "\ufeff<entry " + ns + "><link rel='self'/></entry>", "\ufeff<entry " + ns + "><link rel='via'/></entry>"},
		{"of the source only", `<entry ` + ns + `><source><link rel="self"/></source></entry>`, ""},
		{"a feed", `<feed ` + ns + `><link rel="self"/><entry><link rel="self"/></entry></feed>`, ""},
		{"no Atom", `<entry><link rel="self"/></entry>`, ""},
		{"other relation", `<entry ` + ns + `><link rel="self2"/><link rel="Self"/><link/></entry>`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.doc
			}
			got, err := selfToVia([]byte(c.doc))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Error(d)
			}
		})
	}
	for _, doc := range []string{
		"", "text", "<entry " + ns + "><link rel='self'/>", "<entry " + ns + "><link rel='self'></entry>", "<entry " + ns + "><link rel='self'/></entry><entry/>",
		"<entry " + ns + "><link rel='self'/></entry>text", "<entry " + ns + "><link rel='self' rel='self'/></entry>", "<entry " + ns + "><link rel=self/></entry>",
		"<entry " + ns + "><link rel='self'/>&nbsp;</entry>", "<?xml version='1.0' encoding='UTF-16'?><entry " + ns + "><link rel='self'/></entry>",
	} {
		if got, err := selfToVia([]byte(doc)); err == nil || string(got) != doc {
			t.Errorf("%q became %q, %v", doc, got, err)
		}
	}
}

func atomRecord(content, more string) string {
	return fmt.Sprintf(`{"identifier":"urn:x:1","representations":[{"name":"e.atom","type":"application/atom+xml; type=entry","content":%q%s}]}`, content, more)
}

func TestAtomRDC(t *testing.T) {
	const entry = `<entry xmlns='http://www.w3.org/2005/Atom'><link rel='self' href='http://old/1'/></entry>`
	const declared = `,"length":90,"hashes":{"sha-256":"4141b2aa8ea7a1d6c2dbae7fe5a5d2ec9c6d6a2fcd5ed8a3b9ab5a5a5a5a5a5a"}`
	t.Run("PMH-RDC-01 self becomes via, hashed after that, declared sums checked before", func(t *testing.T) {
		f := newFake(t)
		c := describe([]byte(entry))
		r, findings, err := f.run(Config{}, atomRecord(entry, fmt.Sprintf(`,"length":%d,"hashes":{"sha-256":"%x"}`, len(entry), c.SHA256)))
		if err != nil || r.Created != 1 || len(findings) > 0 {
			t.Fatalf("%+v, %v, %v", r, findings, err)
		}
		want := strings.Replace(entry, "'self'", "'via'", 1)
		if got := f.content("s", "urn:x:1", "e.atom"); got != want {
			t.Errorf("kept as %s", got)
		}
	})
	t.Run("PMH-RDC-01 declared sums of other bytes", func(t *testing.T) {
		r, _, _ := newFake(t).run(Config{}, atomRecord(entry, declared))
		if r.Rejected != 1 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("PMH-RDC-01 other types and files stay", func(t *testing.T) {
		f := newFake(t)
		if r, _, err := f.run(Config{}, `{"identifier":"urn:x:1","representations":[{"name":"r","type":"application/xml","content":"`+entry+`"}],"files":[{"name":"f","type":"application/atom+xml","content":"`+entry+`"}]}`); err != nil || r.Created != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if f.content("s", "urn:x:1", "r") != entry || f.content("s", "urn:x:1", "f") != entry {
			t.Error("changed")
		}
	})
	t.Run("PMH-RDC-01 the type in capitals", func(t *testing.T) {
		f := newFake(t)
		r, findings, err := f.run(Config{}, strings.Replace(atomRecord(entry, ""), "application/atom+xml", "Application/Atom+XML", 1))
		if err != nil || r.Created != 1 || strings.Contains(f.content("s", "urn:x:1", "e.atom"), "'self'") {
			t.Errorf("%+v, %v, %v", r, findings, err)
		}
	})
	for name, dtd := range map[string]string{
		"plain":    `<!DOCTYPE entry>`,
		"entities": `<!DOCTYPE entry [<!ENTITY s "self">]>`,
		"broken":   `<!DOCTYPE entry [<!ENTITY s "self>`,
	} {
		t.Run("PMH-RDC-01 a document type could hide a self link: "+name, func(t *testing.T) {
			for _, inline := range []int{0, 60} {
				f := newFake(t)
				if inline > 0 {
					f.inline = inline
				}
				r, findings, err := f.run(Config{}, atomRecord("<?xml version='1.0'?>"+dtd+strings.Replace(entry, "'self'", "'&s;'", 1), ""))
				if err != nil || r.Rejected != 1 || len(findings) != 1 || !strings.Contains(findings[0], "representations[0].content: has a document type") {
					t.Errorf("inline %d: %+v, %v, %v", inline, r, findings, err)
				}
			}
		})
	}
	t.Run("PMH-RDC-01 no well-formed XML stays, with a warning", func(t *testing.T) {
		f := newFake(t)
		broken := strings.TrimSuffix(entry, ">")
		r, findings, err := f.run(Config{}, atomRecord(broken, ""))
		if err != nil || r.Created != 1 || len(findings) != 1 || !strings.HasPrefix(findings[0], "warning: a:1: representations[0].content: is no well-formed XML") {
			t.Fatalf("%+v, %v, %v", r, findings, err)
		}
		if f.content("s", "urn:x:1", "e.atom") != broken {
			t.Error("changed")
		}
	})
	t.Run("PMH-RDC-01 too large to be searched", func(t *testing.T) {
		f := newFake(t)
		f.inline = 10_000
		large := strings.Replace(entry, "</entry>", "<title>"+strings.Repeat("t", f.inline)+"</title></entry>", 1)
		r, findings, err := f.run(Config{}, atomRecord(large, ""))
		if err != nil || r.Rejected != 1 || len(f.objects) > 0 {
			t.Fatalf("%+v, %.200v, %v", r, findings, err)
		}
		if r, _, err := f.run(Config{}, atomRecord(strings.ReplaceAll(large, "entry", "feed"), "")); err != nil || r.Created != 1 {
			t.Errorf("a feed: %+v, %v", r, err)
		}
	})
}

// FuzzSelfToVia holds the result against encoding/xml: the same tokens but for
// the relations, none of which says self.
func FuzzSelfToVia(f *testing.F) {
	f.Add(`<entry xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="a"/><a:link xmlns:a='http://www.w3.org/2005/Atom' rel='self'/></entry>`)
	f.Add(`<a:entry xmlns:a="http://www.w3.org/2005/Atom"><!--x--><a:link b="'" rel = '&#x73;elf'>t</a:link ></a:entry>`)
	f.Fuzz(func(t *testing.T, doc string) {
		out, err := selfToVia([]byte(doc))
		if err != nil {
			if string(out) != doc {
				t.Fatal("a broken document was changed")
			}
			return
		}
		before, after := newXMLDecoder(strings.NewReader(doc)), newXMLDecoder(strings.NewReader(string(out)))
		entry, depth := false, 0
		for {
			a, errA := before.Token()
			b, errB := after.Token()
			if errA != nil || errB != nil {
				if errA != errB {
					t.Fatalf("%v, then %v", errA, errB)
				}
				return
			}
			if s, ok := a.(xml.StartElement); ok {
				entry = entry || depth == 0 && isEntry(s.Name)
				if entry && depth == 1 && s.Name.Space == atomNamespace && s.Name.Local == "link" {
					for i := range s.Attr {
						if x := &s.Attr[i]; x.Name.Space == "" && x.Name.Local == "rel" && (x.Value == "self" || x.Value == selfRelation) {
							x.Value = "via"
						}
					}
				}
				depth++
			}
			if _, ok := a.(xml.EndElement); ok {
				depth--
			}
			if d := cmp.Diff(a, b); d != "" {
				t.Fatal(d)
			}
		}
	})
}
