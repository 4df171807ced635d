package model_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gateway/model"
)

func TestTimeString(t *testing.T) {
	t.Run("RS-DOC-08 complete UTC datetimes", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			at := model.Time(rapid.Int64Range(-2_000_000_000_000_000, 253_402_300_799_999_999).Draw(t, "time"))
			if got, want := at.String(), at.Time().Format("2006-01-02T15:04:05.000000Z"); got != want {
				t.Fatalf("%d prints as %s, want %s", at, got, want)
			}
		})
	})
	for _, date := range []string{"2000-02-29T23:59:59.999999Z", "1999-12-31T00:00:00Z", "2026-03-01T00:00:00Z", "1970-01-01T00:00:00Z"} {
		d, err := time.Parse(time.RFC3339Nano, date)
		if err != nil {
			t.Fatal(err)
		}
		if got := model.TimeOf(d).String(); got != d.Format("2006-01-02T15:04:05.000000Z") {
			t.Errorf("%s prints as %s", date, got)
		}
	}
}

// TestCutter appends changes of random loads and cuts as a log does: no segment
// is larger than its size or a document, and none is smaller without a reason.
func TestCutter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := model.Limits{Entries: rapid.IntRange(1, 20).Draw(t, "entries"), Bytes: 1000}.WithDefaults()
		size := rapid.IntRange(1, 8).Draw(t, "segment size")
		var tail model.Cutter
		var full bool
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			load := model.Load{Entries: rapid.IntRange(0, limits.Entries).Draw(t, "load"), Bytes: rapid.IntRange(0, 1000).Draw(t, "bytes")}
			if tail.Before(load, limits) {
				if !tail.Load.Plus(load).Exceeds(limits) {
					t.Fatal("cut before a change that would have fitted")
				}
				tail = model.Cutter{}
			}
			full = tail.Add(load, size)
			if tail.Load.Exceeds(limits) || tail.Changes > size || full != (tail.Changes == size) {
				t.Fatalf("a tail of %d changes and load %v, limits %v, size %d", tail.Changes, tail.Load, limits, size)
			}
			if full {
				tail = model.Cutter{}
			}
		}
	})
}

func valid() model.Record {
	return model.Record{Identifier: "urn:example:1", State: model.State{
		Title: "One",
		Links: []model.Link{{Rel: "describedby", Href: "https://example.org/1", Type: "text/html"}},
		Resources: []model.Resource{
			{Name: "dc.xml", Type: "application/xml", Profile: "http://www.openarchives.org/OAI/2.0/oai_dc/"},
			{Name: "r.json", Type: "application/json", Hreflang: "en"},
			{Role: model.File, Name: "a file.pdf", Type: "application/pdf"},
			{Role: model.File, Name: "far.zip", Type: "application/zip", Href: "https://example.org/far.zip"},
		}}}
}

func TestValidate(t *testing.T) {
	r := valid()
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, field string
		change      func(r *model.Record)
	}{
		{"missing identifier", "identifier", func(r *model.Record) { r.Identifier = "" }},
		{"relative identifier", "identifier", func(r *model.Record) { r.Identifier = "a/b" }},
		{"identifier without rest", "identifier", func(r *model.Record) { r.Identifier = "urn:" }},
		{"identifier of 1 MB", "identifier", func(r *model.Record) { r.Identifier = "urn:" + strings.Repeat("x", 1<<20) }},
		{"control character", "identifier", func(r *model.Record) { r.Identifier = "urn:a\x00b" }},
		{"line break", "identifier", func(r *model.Record) { r.Identifier = "urn:a\nb" }},
		{"not UTF-8", "identifier", func(r *model.Record) { r.Identifier = "urn:a\xff" }},
		{"non-character", "identifier", func(r *model.Record) { r.Identifier = "urn:a\uFFFE" }},
		{"title that XML cannot carry", "title", func(r *model.Record) { r.Title = "a\x01" }},
		{"long title", "title", func(r *model.Record) { r.Title = strings.Repeat("x", 1<<20) }},
		{"duplicate name", "files[0].name", func(r *model.Record) { r.Resources[2].Name = "dc.xml" }},
		{"dot dot", "representations[0].name", func(r *model.Record) { r.Resources[0].Name = ".." }},
		{"slash", "representations[0].name", func(r *model.Record) { r.Resources[0].Name = "a/b" }},
		{"backslash", "representations[0].name", func(r *model.Record) { r.Resources[0].Name = `a\b` }},
		{"no name", "files[1].name", func(r *model.Record) { r.Resources[3].Name = "" }},
		{"long name", "files[1].name", func(r *model.Record) { r.Resources[3].Name = strings.Repeat("x", 256) }},
		{"equal type and profile", "representations[1]", func(r *model.Record) {
			r.Resources[1] = r.Resources[0]
			r.Resources[1].Name = "other"
		}},
		{"no type", "representations[1].type", func(r *model.Record) { r.Resources[1].Type = "" }},
		{"no media type", "representations[1].type", func(r *model.Record) { r.Resources[1].Type = "xml" }},
		{"header injection", "representations[1].type", func(r *model.Record) { r.Resources[1].Type = "text/plain\r\nX: y" }},
		{"relative profile", "representations[0].profile", func(r *model.Record) { r.Resources[0].Profile = "oai_dc" }},
		{"quote in a profile", "representations[0].profile", func(r *model.Record) { r.Resources[0].Profile = `urn:a"b` }},
		{"no language", "representations[1].hreflang", func(r *model.Record) { r.Resources[1].Hreflang = "e n" }},
		{"relative href", "files[1].href", func(r *model.Record) { r.Resources[3].Href = "/x" }},
		{"nothing hosted", "representations", func(r *model.Record) {
			r.Resources[0].Href, r.Resources[1].Href = "http://a.example/", "http://b.example/"
		}},
		{"no representation", "representations", func(r *model.Record) { r.Resources = r.Resources[2:] }},
		{"empty collection", "collections[0]", func(r *model.Record) { r.Collections = []string{""} }},
		{"link without rel", "links[0].rel", func(r *model.Record) { r.Links[0].Rel = "" }},
		{"link to nowhere", "links[0].href", func(r *model.Record) { r.Links[0].Href = "" }},
		{"links of more than 1 MiB together", "links", func(r *model.Record) {
			r.Links = slices.Repeat([]model.Link{{Rel: "via", Href: "http://a.example/" + strings.Repeat("x", 1900)}}, 600)
		}},
		{"collections of more than 1 MiB together", "collections", func(r *model.Record) {
			r.Collections = slices.Repeat([]string{strings.Repeat("c", 2000)}, 600)
		}},
		{"files that are said too much of", "files", func(r *model.Record) {
			r.Summary = strings.Repeat("s", 60<<10)
			for i := range 600 {
				r.Resources = append(r.Resources, model.Resource{Role: model.File, Name: strconv.Itoa(i), Type: "a/b", Href: "http://a.example/" + strings.Repeat("x", 1900)})
			}
		}},
		{"types equal but for case and spaces", "representations[1]", func(r *model.Record) {
			r.Resources[0] = model.Resource{Name: "a", Type: "text/plain; charset=utf-8"}
			r.Resources[1] = model.Resource{Name: "b", Type: `Text/Plain;Charset="UTF-8"`}
		}},
		{"profile in the type, spelt otherwise", "representations[1]", func(r *model.Record) {
			r.Resources[1] = model.Resource{Name: "b", Type: `APPLICATION/xml ;profile="` + r.Resources[0].Profile + `"`}
		}},
		{"too many representations", "representations", func(r *model.Record) {
			r.Resources = make([]model.Resource, model.MaxRepresentations+1)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := valid()
			test.change(&r)
			var field *model.FieldError
			if err := r.Validate(); !errors.As(err, &field) || field.Field != test.field {
				t.Errorf("got %v, want an error of field %s", err, test.field)
			} else if len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestIdentifiersAreNotNormalised(t *testing.T) {
	for _, id := range []string{"urn:x:a ", "urn:x:%7E", "urn:x:~", "urn:x:e\u0301", "urn:x:\u00e9", "HTTP://Example.org/A"} {
		r := valid()
		r.Identifier = id
		if err := r.Validate(); err != nil {
			t.Errorf("%q: %v", id, err)
		}
		if r.Identifier != id {
			t.Errorf("%q became %q", id, r.Identifier)
		}
	}
}

func TestCleanText(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\x00b": "a\uFFFDb", "bad\xff": "bad\uFFFD", "\uFFFE": "\uFFFD", "tab\tand\nline": "tab\tand\nline", "kept \uFFFD": "kept \uFFFD",
	} {
		got, changed := model.CleanText(in)
		if got != want || changed != (in != want) {
			t.Errorf("%q became %q, changed %v", in, got, changed)
		}
	}
}

func TestPolicy(t *testing.T) {
	p := model.DefaultPolicy()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"segment_size": "7", "segment_age": "1h", "snapshot_interval": "0s", "snapshot_changes": "5", "snapshot_keep": "2h",
		"package_size": "2000000", "external": "reject", "changelist": "index", "complete_limit": "0", "capabilities": "resourcelist",
	} {
		if err := p.Set(key, value); err != nil {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
	text, err := model.MarshalPolicy(p)
	if err != nil {
		t.Fatal(err)
	}
	back, err := model.ParsePolicy(text)
	if again, _ := model.MarshalPolicy(back); err != nil || again != text {
		t.Errorf("%s reads back as %s, %v", text, again, err)
	}
	for _, wrong := range [][2]string{
		{"segment_size", "0"}, {"segment_size", "25001"}, {"segment_size", "many"}, {"segment_age", "-1h"}, {"segment_age", "1 day"},
		{"external", "list"}, {"external", "cache"}, {"external", "x"}, {"changelist", "recent"}, {"changelist", "x"},
		{"capabilities", "resourcelist,dump"}, {"capabilities", "x"}, {"capabilities", "changelist,changelist"}, {"nothing", "1"},
		{"package_size", "1"}, {"complete_limit", "-1"},
	} {
		was, _ := model.MarshalPolicy(p)
		var field *model.FieldError
		if err := p.Set(wrong[0], wrong[1]); !errors.As(err, &field) || field.Field != "policy."+wrong[0] {
			t.Errorf("%s=%s: %v", wrong[0], wrong[1], err)
		}
		if now, _ := model.MarshalPolicy(p); now != was {
			t.Errorf("%s=%s changed the policy", wrong[0], wrong[1])
		}
	}
}

func TestPrivateSetsAreRefused(t *testing.T) {
	s := model.Set{Name: "x", Private: true, Policy: model.DefaultPolicy()}
	var field *model.FieldError
	if err := s.Validate(); !errors.As(err, &field) || field.Field != "private" {
		t.Errorf("got %v", err)
	}
}

func TestResourceURI(t *testing.T) {
	got := string(model.AppendResourceURI(nil, "http://example.org/b", "set", 12, "a ü&%/.xml"))
	if want := "http://example.org/b/r/set/12/a%20%C3%BC%26%25%2F.xml"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, s := range []string{"", "0", "01", "-1", "+1", "1x", "99999999999999999999"} {
		if n, err := model.ParseRecordNumber(s); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("%q is record %d", s, n)
		}
	}
}

func TestMediaType(t *testing.T) {
	r := model.Resource{Type: "application/xml", Profile: "http://www.openarchives.org/OAI/2.0/oai_dc/"}
	if got := r.MediaType(); got != `application/xml; profile="http://www.openarchives.org/OAI/2.0/oai_dc/"` {
		t.Error(got)
	}
	if got := model.BaseType("text/html ; charset=utf-8"); got != "text/html" {
		t.Error(got)
	}
}

func BenchmarkTimeAppend(b *testing.B) {
	at := model.Time(1_767_225_600_000_000) + model.Time(rand.Int64N(1e15))
	buf := make([]byte, 0, 64)
	for b.Loop() {
		buf = at.Append(buf[:0])
	}
}
