package resource_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"gateway/internal/httpx"
	"gateway/model"
)

var long = strings.Repeat("<dc:title>The Thames at Richmond</dc:title>\n", 50)

func TestResource(t *testing.T) {
	a := newArchive()
	dc := a.hosted(model.Representation, "oai_dc.xml", "application/xml", long)
	dc.Profile = "http://www.openarchives.org/OAI/2.0/oai_dc/"
	de := a.hosted(model.Representation, "record.json", "application/json", `{"a":1}`)
	de.Hreflang = "de"
	a.put("urn:x:1", dc, de, a.hosted(model.File, "100% real/€.txt", "text/plain", "short"))
	e := a.serve()

	res := ask(e, "GET", "/r/rivers/1/oai_dc.xml")
	if got := body(t, res); res.StatusCode != 200 || got != long {
		t.Fatalf("%d %q", res.StatusCode, got)
	}
	for name, want := range map[string]string{
		"Content-Type":            `application/xml; profile="http://www.openarchives.org/OAI/2.0/oai_dc/"`,
		"Content-Length":          fmt.Sprint(len(long)),
		"Last-Modified":           "Thu, 01 Jan 2026 00:00:01 GMT",
		"Cache-Control":           "public, no-cache",
		"Vary":                    "Accept-Encoding",
		"Accept-Ranges":           "bytes",
		"X-Content-Type-Options":  "nosniff",
		"Content-Security-Policy": "sandbox",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	t.Run("Content-Type is the type on input, byte for byte", func(t *testing.T) {
		for i, mediaType := range []string{
			"text/html", "text/plain", "application/xml", "text/xml", "TEXT/Html;charset=latin1", "application/vnd.example+json; version=2",
		} {
			id := fmt.Sprintf("urn:type:%d", i)
			number := a.put(id, a.hosted(model.Representation, "r", mediaType, id))
			res := ask(e, "GET", fmt.Sprintf("/r/rivers/%d/r", number))
			if got := res.Header["Content-Type"]; len(got) != 1 || got[0] != mediaType {
				t.Errorf("%q, want %q", got, mediaType)
			}
		}
	})
	t.Run("HEAD is GET without the body", func(t *testing.T) {
		head := ask(e, "HEAD", "/r/rivers/1/oai_dc.xml")
		for name := range res.Header {
			if head.Header.Get(name) != res.Header.Get(name) {
				t.Errorf("%s is %q", name, head.Header.Get(name))
			}
		}
		if body(t, head) != "" {
			t.Error("it has a body")
		}
	})
	t.Run("304", func(t *testing.T) {
		res := ask(e, "GET", "/r/rivers/1/oai_dc.xml", "If-None-Match", res.Header.Get("Etag"))
		if res.StatusCode != 304 || !strings.Contains(res.Header.Get("Link"), `rel="resourcesync"`) {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
	})
	t.Run("gzip is the stored stream", func(t *testing.T) {
		res := ask(e, "GET", "/r/rivers/1/oai_dc.xml", "Accept-Encoding", "gzip")
		if got := body(t, res); !strings.Contains(got, string(a.contents[dc.Content.SHA256])) || res.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%v", res.Header)
		}
	})
	t.Run("range", func(t *testing.T) {
		res := ask(e, "GET", "/r/rivers/1/oai_dc.xml", "Range", "bytes=50-59")
		if got := body(t, res); res.StatusCode != 206 || got != long[50:60] {
			t.Errorf("%d %q", res.StatusCode, got)
		}
	})
	t.Run("names of any characters", func(t *testing.T) {
		path := strings.TrimPrefix(string(model.AppendResourceURI(nil, base, "rivers", 1, "100% real/€.txt")), base)
		if res := ask(e, "GET", path); res.StatusCode != 200 || body(t, res) != "short" {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	})
	t.Run("Content-Language", func(t *testing.T) {
		if res := ask(e, "GET", "/r/rivers/1/record.json"); res.Header.Get("Content-Language") != "de" {
			t.Errorf("%v", res.Header)
		}
	})
	t.Run("another type is another ETag", func(t *testing.T) {
		first := a.put("urn:x:2", a.hosted(model.Representation, "r", "text/plain", "same bytes"))
		before := ask(e, "GET", fmt.Sprintf("/r/rivers/%d/r", first)).Header.Get("Etag")
		a.put("urn:x:2", a.hosted(model.Representation, "r", "text/markdown", "same bytes"))
		if res := ask(e, "GET", fmt.Sprintf("/r/rivers/%d/r", first), "If-None-Match", before); res.StatusCode != 200 {
			t.Errorf("%d", res.StatusCode)
		}
	})
	t.Run("PDF is shown, everything else in a sandbox", func(t *testing.T) {
		n := a.put("urn:x:3", a.hosted(model.Representation, "r", "image/svg+xml", "<svg/>"), a.hosted(model.File, "f", "application/pdf", "%PDF"))
		for name, want := range map[string]string{"r": "sandbox", "f": ""} {
			res := ask(e, "GET", fmt.Sprintf("/r/rivers/%d/%s", n, name))
			if got := res.Header.Get("Content-Security-Policy"); got != want || res.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
}

func TestLinks(t *testing.T) {
	a := newArchive()
	elsewhere := model.Resource{Role: model.Representation, Name: "far.xml", Type: "text/xml", Href: "https://far.example/", Content: model.Content{Length: -1}}
	dc := a.hosted(model.Representation, "dc.xml", "application/xml", "<dc/>")
	dc.Profile = "urn:profile:dc"
	a.put("urn:x:1", elsewhere, dc, a.hosted(model.Representation, "r.json", "application/json", "{}"),
		a.hosted(model.File, "a.pdf", "application/pdf", "%PDF"))
	e := a.serve()
	const (
		list      = `<https://sync.example/repo/rs/rivers/capabilitylist.xml>; rel="resourcesync"`
		profile   = `<urn:profile:dc>; rel="profile"`
		canonical = `<https://sync.example/repo/r/rivers/1>; rel="canonical"`
		xml       = `; type="application/xml; profile=\"urn:profile:dc\""`
		alternate = `<https://sync.example/repo/r/rivers/1/dc.xml>; rel="alternate"` + xml +
			`, <https://sync.example/repo/r/rivers/1/r.json>; rel="alternate"; type="application/json"`
		describes   = `<https://sync.example/repo/r/rivers/1/a.pdf>; rel="describes"; type="application/pdf"`
		describedBy = `<https://sync.example/repo/r/rivers/1/dc.xml>; rel="describedby"` + xml
	)
	for _, row := range []struct{ path, want string }{
		{"/r/rivers/1", strings.Join([]string{list, profile, alternate}, ", ")},
		{"/r/rivers/1/dc.xml", strings.Join([]string{list, profile, canonical, describes}, ", ")},
		{"/r/rivers/1/r.json", strings.Join([]string{list, canonical}, ", ")},
		{"/r/rivers/1/a.pdf", strings.Join([]string{list, describedBy}, ", ")},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			t.Run("RS-DISC-03 RS-LN-02 RS-LN-03 RS-LN-05 "+method+" "+row.path, func(t *testing.T) {
				got := ask(e, method, row.path).Header["Link"]
				if len(got) != 1 || got[0] != row.want {
					t.Errorf("\n got %s\nwant %s", got, row.want)
				}
			})
		}
	}
	t.Run("a thousand files do not make a header that proxies refuse", func(t *testing.T) {
		resources := []model.Resource{a.hosted(model.Representation, "r", "text/plain", "r")}
		for i := range 1000 {
			resources = append(resources, a.hosted(model.File, fmt.Sprintf("file %d", i), "text/plain", "f"))
		}
		n := a.put("urn:x:2", resources...)
		link := ask(e, "GET", fmt.Sprintf("/r/rivers/%d/r", n)).Header.Get("Link")
		if len(link) > 3000 || !strings.Contains(link, "canonical") || !strings.Contains(link, "file%200") {
			t.Errorf("%d bytes: %s", len(link), link)
		}
	})
}

func TestAbsence(t *testing.T) {
	a := newArchive()
	r := a.hosted(model.Representation, "r", "text/plain", "r")
	far := model.Resource{Role: model.File, Name: "far", Type: "text/plain", Href: "https://far.example/", Content: model.Content{Length: -1}}
	a.put("urn:x:1", r, a.hosted(model.File, "old", "text/plain", "old"), a.hosted(model.File, "moved", "text/plain", "m"), far)
	moved := far
	moved.Name = "moved"
	a.put("urn:x:1", r, moved, a.hosted(model.File, "back", "text/plain", "b"))
	a.put("urn:x:1", r, moved)
	a.put("urn:x:1", r, moved, a.hosted(model.File, "back", "text/plain", "b"))
	a.put("urn:x:2", r)
	a.remove("urn:x:2")
	a.put("urn:x:3", r, a.hosted(model.File, "first", "text/plain", "f"))
	for i := range 40 {
		a.put("urn:x:3", r, a.hosted(model.File, "f", "text/plain", fmt.Sprint(i)))
	}
	a.put("urn:x:4", r, a.hosted(model.File, "first", "text/plain", "f"))
	for i := range 300 {
		a.put("urn:x:4", r, a.hosted(model.File, "f", "text/plain", fmt.Sprint(i)))
	}
	e := a.serve()
	for _, row := range []struct {
		path   string
		status int
	}{
		{"/r/rivers/1", 200},
		{"/r/rivers/1/r", 200},
		{"/r/rivers/1/back", 200},
		{"/r/rivers/1/old", 410},
		{"/r/rivers/1/moved", 410},
		{"/r/rivers/1/far", 404},
		{"/r/rivers/1/never", 404},
		{"/r/rivers/2", 410},
		{"/r/rivers/2/r", 410},
		{"/r/rivers/2/never", 404},
		{"/r/rivers/3/first", 410},
		{"/r/rivers/4/first", 404}, // longer ago than we look back
		{"/r/rivers/5", 404},
		{"/r/rivers/5/r", 404},
		{"/r/rivers/0", 404},
		{"/r/rivers/01", 404},
		{"/r/rivers/+1", 404},
		{"/r/rivers/1/", 404},
		{"/r/rivers/99999999999999999999", 404},
		{"/r/lakes/1", 404},
		{"/r/lakes?identifier=urn:x:1", 404},
		{"/r/rivers?identifier=urn:x:1", 303},
		{"/r/rivers?identifier=urn:x:2", 410},
		{"/r/rivers?identifier=urn:x:9", 404},
		{"/r/rivers?identifier=urn:X:1", 404},
		{"/r/rivers?identifier=", 400},
		{"/r/rivers?identifier=urn:x:1&identifier=urn:x:2", 400},
		{"/r/rivers?identifier=%zz", 400},
		{"/r/rivers", 400},
	} {
		t.Run(row.path, func(t *testing.T) {
			for _, method := range []string{"GET", "HEAD"} {
				res := ask(e, method, row.path)
				if res.StatusCode != row.status {
					t.Errorf("%s: %d, want %d", method, res.StatusCode, row.status)
				}
				if row.status >= 400 && (res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("Content-Type") != "application/problem+json") {
					t.Errorf("%s: %v", method, res.Header)
				}
			}
		})
	}
	t.Run("400 names the field", func(t *testing.T) {
		var p httpx.Problem
		if err := json.Unmarshal([]byte(body(t, ask(e, "GET", "/r/rivers"))), &p); err != nil || p.Field != "identifier" {
			t.Errorf("%+v %v", p, err)
		}
	})
}

func TestByIdentifier(t *testing.T) {
	a := newArchive()
	for _, identifier := range []string{"urn:x:a b", "urn:x:a+b", "http://x.example/?a=1&b=2#c", "urn:x:é", "urn:x:e\u0301", "urn:x:%7E", "urn:x:~"} {
		n := a.put(identifier, a.hosted(model.Representation, "r", "text/plain", identifier))
		res := ask(a.serve(), "GET", "/r/rivers?identifier="+url.QueryEscape(identifier))
		want := fmt.Sprintf("%s/r/rivers/%d", base, n)
		if got := res.Header.Get("Location"); got != want || res.StatusCode != 303 {
			t.Errorf("%q: %d %s, want %s", identifier, res.StatusCode, got, want)
		}
	}
}

func TestNegotiation(t *testing.T) {
	a := newArchive()
	add := func(name, mediaType, profile, language string) model.Resource {
		r := a.hosted(model.Representation, name, mediaType, "the same bytes")
		r.Profile, r.Hreflang = profile, language
		return r
	}
	a.put("urn:x:1",
		add("dc", "application/xml", "urn:dc", ""),
		add("mods", "application/xml", "urn:mods", ""),
		add("en", "text/html", "", "en"),
		add("de", "text/html", "", "de-AT"),
		add("json", "application/json", "", ""),
		add("v2", "application/vnd.x+json;version=2", "", ""),
		model.Resource{Role: model.Representation, Name: "far", Type: "image/png", Href: "https://far.example/", Content: model.Content{Length: -1}},
		a.hosted(model.File, "file", "text/csv", "a,b"))
	e := a.serve()
	etags := map[string]string{}
	for _, row := range []struct{ accept, language, want string }{
		{"", "", "dc"},
		{"*/*", "", "dc"},
		{"application/xml", "", "dc"},
		{`application/xml;profile="urn:mods"`, "", "mods"},
		{`application/xml; profile="urn:mods"; q=0.5, application/json;q=0.4`, "", "mods"},
		{`application/xml;q=0.9, application/xml;profile="urn:mods";q=0.1`, "", "dc"},
		{`application/xml;q=0.1, application/xml;profile="urn:mods";q=0.9`, "", "mods"},
		{`application/xml;profile="urn:none"`, "", "406"},
		{"application/json", "", "json"},
		{"Application/JSON", "", "json"},
		{"application/json, application/xml;q=0.9", "", "json"},
		{"application/json;q=0.9, application/xml", "", "dc"},
		{"application/json;q=0.5, application/xml;q=0.5", "", "dc"},
		{"application/vnd.x+json", "", "v2"},
		{"application/vnd.x+json;version=2", "", "v2"},
		{"application/vnd.x+json;version=1", "", "406"},
		{"text/*", "", "en"},
		{"text/*;q=0.3, */*;q=0.2", "", "en"},
		{"*/*;q=0.1, text/*;q=0", "", "dc"},
		{"application/*;q=0, */*", "", "en"},
		{"text/html", "de", "de"},
		{"text/html", "de-AT", "de"},
		{"text/html", "de-DE", "en"},
		{"text/html", "DE-at, en;q=0.5", "de"},
		{"text/html", "de;q=0.4, en;q=0.5", "en"},
		{"text/html", "fr", "en"},
		{"text/html", "*, en;q=0.1", "de"},
		{"text/html", "en;q=0", "en"},
		{"", "de", "de"},
		{"", "fr", "dc"},
		{"text/html;q=0.9, application/xml", "de", "dc"},
		{"image/png", "", "406"},
		{"text/csv", "", "406"},
		{"application/xml;q=0", "", "406"},
		{"*/*;q=0", "", "406"},
		{"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "", "en"},
		{"image/gif, *; q=.2", "", "dc"},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "en-US,en;q=0.5", "en"},
		{"nonsense", "", "dc"},
		{";;;,", "", "dc"},
		{"application/json;q=oops, application/xml;q=0.1", "", "dc"},
	} {
		t.Run(row.accept+" "+row.language, func(t *testing.T) {
			var header []string
			if row.accept != "" {
				header = append(header, "Accept", row.accept)
			}
			if row.language != "" {
				header = append(header, "Accept-Language", row.language)
			}
			res := ask(e, "GET", "/r/rivers/1", header...)
			if got := res.Header.Get("Vary"); !strings.HasPrefix(got, "Accept, Accept-Language") {
				t.Errorf("Vary: %s", got)
			}
			if row.want == "406" {
				checkAlternates(t, res)
				return
			}
			if got := res.Header.Get("Content-Location"); got != base+"/r/rivers/1/"+row.want || res.StatusCode != 200 {
				t.Fatalf("%d %q, want %s", res.StatusCode, got, row.want)
			}
			if got := res.Header.Get("Vary"); got != "Accept, Accept-Language, Accept-Encoding" {
				t.Errorf("Vary: %s", got)
			}
			etags[row.want] = res.Header.Get("Etag")
			direct := ask(e, "GET", "/r/rivers/1/"+row.want)
			if res.Header.Get("Content-Type") != direct.Header.Get("Content-Type") || body(t, res) != body(t, direct) {
				t.Error("the answer is not its Content-Location's")
			}
		})
	}
	t.Run("every variant has its own ETag", func(t *testing.T) {
		seen := map[string]string{}
		for name, etag := range etags {
			if other := seen[etag]; other != "" || etag == "" {
				t.Errorf("%s and %s have %q", name, other, etag)
			}
			seen[etag] = name
		}
		if len(seen) != 6 {
			t.Errorf("%d variants: %v", len(seen), seen)
		}
	})
	t.Run("304 only for the same variant", func(t *testing.T) {
		for name, want := range map[string]int{"json": 304, "dc": 200} {
			res := ask(e, "GET", "/r/rivers/1", "Accept", "application/json", "If-None-Match", etags[name])
			if res.StatusCode != want || res.Header.Get("Content-Location") == "" {
				t.Errorf("%s: %d", name, res.StatusCode)
			}
		}
	})
}

func checkAlternates(t *testing.T, res *http.Response) {
	t.Helper()
	var p httpx.Problem
	if err := json.Unmarshal([]byte(body(t, res)), &p); err != nil || res.StatusCode != 406 || p.Type != httpx.ProblemNotAcceptable {
		t.Fatalf("%d %+v %v", res.StatusCode, p, err)
	}
	var names []string
	for _, a := range p.Alternates {
		names = append(names, strings.TrimPrefix(a.Href, base+"/r/rivers/1/"))
		if !strings.Contains(res.Header.Get("Link"), "<"+a.Href+`>; rel="alternate"`) {
			t.Errorf("no link to %s", a.Href)
		}
	}
	if want := []string{"dc", "mods", "en", "de", "json", "v2"}; !slices.Equal(names, want) {
		t.Errorf("alternates %q, want %q", names, want)
	}
}

func TestBodyThatBreaksMidway(t *testing.T) {
	a := newArchive()
	a.put("urn:x:1", a.hosted(model.Representation, "r", "text/plain", strings.Repeat(long, 1000)))
	a.shorter = true
	server := httptest.NewServer(a.serve())
	defer server.Close()
	for _, coding := range []string{"identity", "gzip"} {
		r, err := http.NewRequest("GET", server.URL+"/r/rivers/1/r", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", coding)
		res, err := server.Client().Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: the client saw a clean body", coding)
		}
	}
}
