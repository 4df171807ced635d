package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gateway/model"
)

const everything = `{"identifier": "urn:example:1", "title": "A \u00e9 \ud83d\ude00", "summary": "S", "collections": ["theses", "b"], "modified": "2020-01-31T00:00:00Z",
 "representations": [
   {"name": "oai_dc.xml", "type": "application/xml", "profile": "http://www.openarchives.org/OAI/2.0/oai_dc/", "content": "<a>\"x\\\"<\/a>\n"},
   {"name": "record.json", "type": "application/json", "hreflang": "en", "content_base64": "e30="}],
 "files": [
   {"name": "scans.zip", "type": "application/zip", "content_file": "1/scans.zip", "length": 5, "hashes": {"md5": "5D41402ABC4B2A76B9719D911017C592", "sha-1": "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d", "sha-256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}},
   {"name": "data.zip", "type": "application/zip", "href": "https://repo.example/1/data.zip", "length": 123, "hashes": {"md5": "5d41402abc4b2a76b9719d911017c592"}}],
 "links": [{"rel": "describedby", "href": "https://example.org/", "type": "text/html", "hreflang": "de", "title": "L"}]}`

// oneLine makes an example of several lines a JSON line.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

func filesDir(t *testing.T) string {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "1", "scans.zip"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestEverythingInARecord(t *testing.T) {
	f := newFake(t)
	r, findings, err := f.run(Config{Files: filesDir(t)}, oneLine(everything))
	if err != nil || len(findings) > 0 || r != (Result{Created: 1}) {
		t.Fatalf("%+v, %v, %v", r, findings, err)
	}
	c := f.sets["s"].At(1)
	for name, want := range map[string]string{"oai_dc.xml": "<a>\"x\\\"</a>\n", "record.json": "{}", "scans.zip": "hello"} {
		if got := f.content("s", "urn:example:1", name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		r.Kind, r.Position, r.Time, r.Key = 0, 0, 0, 0
		if !r.External() {
			r.Content = model.Content{}
		}
	}
	want := model.State{
		Title: "A é 😀", Summary: "S", Collections: []string{"theses", "b"}, Modified: "2020-01-31T00:00:00Z",
		Links: []model.Link{{Rel: "describedby", Href: "https://example.org/", Type: "text/html", Hreflang: "de", Title: "L"}},
		Resources: []model.Resource{
			{Role: model.Representation, Name: "oai_dc.xml", Type: "application/xml", Profile: "http://www.openarchives.org/OAI/2.0/oai_dc/"},
			{Role: model.Representation, Name: "record.json", Type: "application/json", Hreflang: "en"},
			{Role: model.File, Name: "scans.zip", Type: "application/zip"},
			{Role: model.File, Name: "data.zip", Type: "application/zip", Href: "https://repo.example/1/data.zip",
				Content: model.Content{Length: 123, MD5: [16]byte{0x5d, 0x41, 0x40, 0x2a, 0xbc, 0x4b, 0x2a, 0x76, 0xb9, 0x71, 0x9d, 0x91, 0x10, 0x17, 0xc5, 0x92}}},
		},
	}
	if d := cmp.Diff(want, c.State); d != "" {
		t.Error(d)
	}
}

// record is a record whose only representation has the given fields beside name
// and type.
func record(fields string) string {
	return `{"identifier":"urn:x:1","representations":[{"name":"r","type":"text/plain",` + fields + `}]}`
}

func TestRejectedLines(t *testing.T) {
	const ok = `"representations":[{"name":"r","type":"text/plain","content":"c"}]`
	dir := filesDir(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, line, want string }{
		{"not JSON", `identifier: 1`, `is not JSON: 'i' at byte 1, where an object should stand`},
		{"not an object", `[1]`, `is an array; want an object`},
		{"cut off", `{"identifier":"urn:x`, `identifier: is not JSON: the string that begins at byte 15 does not end`},
		{"comma at the end", `{"identifier":"urn:x:1",}`, `is not JSON: a field's name is missing at byte 25`},
		{"no comma", `{"identifier":"urn:x:1" "title":"a"}`, `identifier: is not JSON: a comma or } is missing after it, at byte 25`},
		{"no colon", `{"identifier" "urn:x:1"}`, `identifier: is not JSON: a colon is missing at byte 15`},
		{"array without comma", `{"collections":["a" "b"]}`, `collections[0]: is not JSON: a comma or ] is missing after it, at byte 21`},
		{"unknown escape", `{"title":"\x"}`, `title: is not JSON: unknown escape in a string, at byte 11`},
		{"short escape", `{"title":"\u00e"}`, `title: is not JSON: unknown escape in a string, at byte 11`},
		{"raw control character", "{\"title\":\"a\tb\"}", `title: is not JSON: the control character U+0009 stands unescaped in a string, at byte 12`},
		{"trailing garbage", `{"identifier":"urn:x:1",` + ok + `} {}`, `is not JSON: something follows the record, at byte 93`},
		{"unknown field", `{"identifier":"urn:x:1","titel":"a",` + ok + `}`, `titel: is no field of identifier, title, summary, collections, modified, representations, files, links, deleted`},
		{"other case", `{"Identifier":"urn:x:1",` + ok + `}`, `Identifier: is no field of identifier, title, summary, collections, modified, representations, files, links, deleted`},
		{"unknown field deep", `{"identifier":"urn:x:1","links":[{"rel":"a"},{"hreF":"a"}]}`, `links[1].hreF: is no field of rel, href, type, hreflang, title`},
		{"field twice", `{"identifier":"urn:x:1","\u0069dentifier":"urn:x:2",` + ok + `}`, `identifier: stands twice`},
		{"wrong type", `{"identifier":"urn:x:1","representations":[{"name":"a","type":"text/plain","content":"c"},{"name":"r","type":7,"content":"c"}]}`, `representations[1].type: is a number; want a string`},
		{"null", `{"identifier":"urn:x:1","title":null,` + ok + `}`, `title: is null; want a string, or leave the field out`},
		{"string for array", `{"identifier":"urn:x:1","collections":"a",` + ok + `}`, `collections: is a string; want an array`},
		{"number for boolean", `{"identifier":"urn:x:1","deleted":1}`, `deleted: is a number; want true or false`},
		{"identifier missing", `{` + ok + `}`, `identifier: is missing`},
		{"identifier relative", `{"identifier":"1",` + ok + `}`, `identifier: "1" is not an absolute IRI (a scheme, a colon, and something after it)`},
		{"identifier of 1 MB", `{"identifier":"urn:` + strings.Repeat("x", 1_000_000-4) + `",` + ok + `}`, `identifier: has 1000000 bytes; at most 2048`},
		{"identifier of 2 MB", `{"identifier":"urn:` + strings.Repeat("\\u0078", 1_999_996) + `",` + ok + `}`, `identifier: has 2000000 bytes; no text but content has more than 1048576`},
		{"field name of 2 MB", `{"` + strings.Repeat("x", 2_000_000) + `":1}`, strings.Repeat("x", 80) + `…: is no field of identifier, title, summary, collections, modified, representations, files, links, deleted`},
		{"many collections", `{"collections":[` + strings.Repeat(`"",`, 2000) + `""]}`, `collections: has more than 1000 items`},
		{"many links", `{"links":[` + strings.Repeat(`{},`, 2000) + `{}]}`, `links: has more than 1000 items`},
		{"identifier with control characters", `{"identifier":"urn:x:\u0007",` + ok + `}`, `identifier: holds the character U+0007 at byte 6`},
		{"identifier with half a pair", `{"identifier":"urn:x:\ud83d",` + ok + `}`, `identifier: an escape names half of a surrogate pair, which is no character`},
		{"identifier not UTF-8", `{"identifier":"urn:x:` + "\xff" + `",` + ok + `}`, `identifier: is not UTF-8`},
		{"no representation", `{"identifier":"urn:x:1"}`, `representations: a live record needs at least one whose content is hosted here`},
		{"duplicate name", `{"identifier":"urn:x:1",` + ok + `,"files":[{"name":"r","type":"text/plain","content":"c"}]}`, `files[0].name: "r" is the name of another representation or file of the record`},
		{"equal type and profile", `{"identifier":"urn:x:1","representations":[{"name":"a","type":"text/plain","profile":"urn:p","content":"c"},{"name":"b","type":"text/plain","profile":"urn:p","content":"d"}]}`,
			`representations[1]: type, profile and hreflang equal those of another representation of the record`},
		{"name ..", `{"identifier":"urn:x:1","representations":[{"name":"..","type":"text/plain","content":"c"}]}`, `representations[0].name: ".." is not a name`},
		{"profile in type", `{"identifier":"urn:x:1","representations":[{"name":"a","type":"text/plain; Profile=\"urn:p\"","content":"c"}]}`, `representations[0].type: holds a profile parameter; give it as the field "profile"`},
		{"broken parameters", `{"identifier":"urn:x:1","representations":[{"name":"a","type":"text/plain; charset","content":"c"}]}`, `representations[0].type: text/plain; charset is not a media type with parameters: mime: invalid media parameter`},
		{"modified", `{"identifier":"urn:x:1","modified":"31.1.2020",` + ok + `}`, `modified: 31.1.2020 is neither a date (2020-01-31) nor an RFC 3339 time (2020-01-31T00:00:00Z)`},
		{"deleted with title", `{"identifier":"urn:x:1","deleted":true,"title":"a"}`, `title: stands beside deleted; a deletion has nothing but the identifier`},
		{"deleted with representations", `{"identifier":"urn:x:1","deleted":true,` + ok + `}`, `representations: stands beside deleted; a deletion has nothing but the identifier`},

		{"no content", `{"identifier":"urn:x:1","representations":[{"name":"r","type":"text/plain"}]}`, `representations[0]: has no content: give it one of content, content_base64, content_file and href`},
		{"two contents", record(`"content":"c","href":"http://x/"`), `representations[0].href: stands beside content; the content comes from exactly one`},
		{"content not UTF-8", record(`"content":"` + "\xff" + `"`), `representations[0].content: is not UTF-8; other bytes come in as content_base64 or content_file`},
		{"content with half a pair", record(`"content":"\udc00\ud83d"`), `representations[0].content: an escape names half of a surrogate pair, which is no character`},
		{"not base64", record(`"content_base64":"e3="`), `representations[0].content_base64: is not base64: illegal base64 data at input byte 3`},
		{"sent before", record(`"content_sha256":"00"`), `representations[0].content_sha256: naming content that was sent before is not offered by this version; give it as content, content_base64 or content_file`},
		{"empty href", record(`"href":""`), `representations[0].href: is empty`},
		{"only external", record(`"href":"http://x/"`), `representations: a live record needs at least one whose content is hosted here`},
		{"other length", record(`"content":"c","length":2`), `representations[0].length: is 2, but the content has 1 bytes`},
		{"negative length", record(`"content":"c","length":-1`), `representations[0].length: is negative; want a whole number of bytes`},
		{"broken length", record(`"content":"c","length":1.0`), `representations[0].length: is not a whole number of bytes`},
		{"length with zeros", record(`"content":"c","length":01`), `representations[0].length: is not JSON: a number begins with 0 at byte 99`},
		{"huge length", record(`"content":"c","length":9223372036854775808`), `representations[0].length: is too large`},
		{"other md5", record(`"content":"c","hashes":{"md5":"5d41402abc4b2a76b9719d911017c592"}`), `representations[0].hashes.md5: is 5d41402abc4b2a76b9719d911017c592, but that of the content is 4a8a08f09d37b73795649038408b5f33`},
		{"other sha-1", record(`"content":"c","hashes":{"sha-1":"aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"}`), `representations[0].hashes.sha-1: is aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d, but that of the content is 84a516841ba77a5b4648de2cd0dfcb30ea46dbb4`},
		{"no hash", record(`"content":"c","hashes":{"sha-256":"5d41"}`), `representations[0].hashes.sha-256: 5d41 is not 64 hexadecimal digits`},
		{"unknown hash", record(`"content":"c","hashes":{"sha-512":"5d41"}`), `representations[0].hashes.sha-512: is no field of md5, sha-1, sha-256`},

		{"content_file ..", record(`"content_file":"../x"`), `representations[0].content_file: ../x is not a path below the directory of files: it is to be relative, with / between names, and without . and ..`},
		{"content_file .. inside", record(`"content_file":"1/../1/scans.zip"`), `representations[0].content_file: 1/../1/scans.zip is not a path below the directory of files: it is to be relative, with / between names, and without . and ..`},
		{"content_file absolute", record(`"content_file":"/etc/passwd"`), `representations[0].content_file: /etc/passwd is not a path below the directory of files: it is to be relative, with / between names, and without . and ..`},
		{"content_file out by a link", record(`"content_file":"out"`), `representations[0].content_file: statat out: path escapes from parent`},
		{"content_file a directory", record(`"content_file":"1"`), `representations[0].content_file: 1 is not a regular file`},
		{"content_file missing", record(`"content_file":"2"`), `representations[0].content_file: statat 2: no such file or directory`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			r, findings, err := f.run(Config{Files: dir}, line("urn:x:0")+"\n"+c.line+"\n"+line("urn:x:9")+"\n")
			if want := (Result{Created: 2, Rejected: 1}); err != nil || r != want {
				t.Errorf("%+v, %v; want %+v", r, err, want)
			}
			if d := cmp.Diff([]string{"a:2: " + c.want}, findings); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
			if len(f.objects) > 0 {
				t.Errorf("%d objects are left", len(f.objects))
			}
		})
	}
	t.Run("content_file without a directory", func(t *testing.T) {
		_, findings, _ := newFake(t).run(Config{}, record(`"content_file":"1/scans.zip"`))
		if d := cmp.Diff([]string{"a:1: representations[0].content_file: no directory was given to look it up in (--files)"}, findings); d != "" {
			t.Error(d)
		}
	})
	t.Run("href under policy reject", func(t *testing.T) {
		f := newFake(t)
		f.policy.External = model.ExternalReject
		_, findings, _ := f.run(Config{}, `{"identifier":"urn:x:1",`+ok+`,"files":[{"name":"f","type":"text/plain","href":"http://x/"}]}`)
		if d := cmp.Diff([]string{"a:1: files[0].href: the set takes hosted content only (its policy external is reject)"}, findings); d != "" {
			t.Error(d)
		}
	})
}

func TestWarnings(t *testing.T) {
	f := newFake(t)
	l := `{"identifier":"urn:x:1","title":"a\u0001b","summary":"\ud800","collections":["` + "\xff" + `","ok"],"links":[{"rel":"a","href":"urn:y","title":"\uffff"}],"representations":[{"name":"r","type":"text/plain","content":"a\u0001\ufffd"}]}`
	r, findings, err := f.run(Config{}, l)
	if err != nil || r.Created != 1 {
		t.Fatalf("%+v, %v, %v", r, findings, err)
	}
	want := []string{
		"warning: a:1: summary: half of a surrogate pair, which is no character, became U+FFFD",
		"warning: a:1: title: characters that XML cannot carry became U+FFFD",
		"warning: a:1: collections[0]: characters that XML cannot carry became U+FFFD",
		"warning: a:1: links[0].title: characters that XML cannot carry became U+FFFD",
	}
	if d := cmp.Diff(want, findings); d != "" {
		t.Error(d)
	}
	c := f.sets["s"].At(1)
	if c.Title != "a\ufffdb" || c.Summary != "\ufffd" || c.Collections[0] != "\ufffd" || c.Links[0].Title != "\ufffd" {
		t.Errorf("%+v", c.State)
	}
	if got := f.content("s", "urn:x:1", "r"); got != "a\x01\ufffd" {
		t.Errorf("content %q was changed", got)
	}
}

// Identifiers that look alike stay apart: they are bytes.
func TestIdentifiersAreBytes(t *testing.T) {
	f := newFake(t)
	ids := []string{"urn:x:\u00e9", "urn:x:e\u0301", "urn:x:%7E", "urn:x:~", "urn:x:a", "urn:x:a ", "urn:x:A"}
	var text strings.Builder
	for _, id := range ids {
		text.WriteString(line(id) + "\n")
	}
	if r, findings, err := f.run(Config{}, text.String()); err != nil || r != (Result{Created: int64(len(ids))}) {
		t.Fatalf("%+v, %v, %v", r, findings, err)
	}
	if d := cmp.Diff(ids, f.sets["s"].order); d != "" {
		t.Error(d)
	}
}

func TestDates(t *testing.T) {
	for s, want := range map[string]bool{
		"2020": true, "2020-02": true, "2020-02-29": true, "2020-01-31T00:00Z": true, "2020-01-31T00:00+01:00": true,
		"2020-01-31T00:00:00Z": true, "2020-01-31T23:59:59.123456-05:30": true,
		"": false, "20": false, "2020-13": false, "2019-02-29": false, "2020-1-1": false, "2020-01-31T": false, "2020-01-31T00:00": false, "2020-01-31T0:00Z": false,
		"2020-01-31T00:00:00": false, "2020-01-31 00:00:00Z": false, "2020-01-31T00:00:00,5Z": false, "2020-01-31T24:00:00Z": false, "2020-01-31T00Z": false,
	} {
		if got := validDate(s); got != want {
			t.Errorf("validDate(%q) = %v", s, got)
		}
	}
}

func TestDeletion(t *testing.T) {
	f := newFake(t)
	r, findings, err := f.run(Config{}, line("urn:x:1")+"\n"+`{"identifier":"urn:x:1","deleted":true}`+"\n"+`{"deleted":true,"identifier":"urn:x:1"}`+"\n"+
		`{"identifier":"urn:x:2","deleted":true}`+"\n"+strings.Replace(line("urn:x:3"), `"title"`, `"deleted":false,"title"`, 1))
	if want := (Result{Created: 2, Deleted: 1, Unchanged: 2}); err != nil || r != want {
		t.Errorf("%+v, %v, %v; want %+v", r, findings, err, want)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{}, {Set: "a", SetFrom: "b"}, {Set: "A"}, {SetFrom: "identifier"}, {Set: "a", MaxDeletes: "-1"}, {Set: "a", MaxDeletes: "many"}} {
		if _, err := New(nil, nil, c); err == nil {
			t.Errorf("%+v was taken", fmt.Sprintf("%+v", c))
		}
	}
}
