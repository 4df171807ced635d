package ingest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"gateway/model"
)

// tree reads JSON with encoding/json into maps, slices and values, and refuses
// names that stand twice.
func tree(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := treeValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows")
	}
	return v, nil
}

func treeValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := treeValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		fields := map[string]any{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			name := k.(string)
			if _, ok := fields[name]; ok {
				return nil, fmt.Errorf("%s stands twice", name)
			}
			if fields[name], err = treeValue(d); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return fields, err
	}
	return t, nil
}

// reference builds a record from a tree, plainly; any mistake is a panic.
type reference struct{}

func (reference) only(v any, names ...string) map[string]any {
	fields := v.(map[string]any)
	for k := range fields {
		if !slices.Contains(names, k) {
			panic("unknown field " + k)
		}
	}
	return fields
}

func (reference) text(fields map[string]any, name string) string {
	v, ok := fields[name]
	if !ok {
		return ""
	}
	return v.(string)
}

func (reference) list(fields map[string]any, name string) []any {
	v, ok := fields[name]
	if !ok {
		return nil
	}
	return v.([]any)
}

func (r reference) resource(v any, role model.Role) (model.Resource, string) {
	f := r.only(v, resourceFields...)
	x := model.Resource{Role: role, Name: r.text(f, "name"), Type: r.text(f, "type"), Profile: r.text(f, "profile"), Hreflang: r.text(f, "hreflang"), Href: r.text(f, "href")}
	n, content := 0, ""
	for _, name := range []string{"content", "content_base64", "content_file", "content_sha256", "href"} {
		if _, ok := f[name]; ok {
			n++
			content = name + ":" + r.text(f, name)
		}
	}
	if n != 1 || f["content_sha256"] != nil || f["href"] == "" {
		panic("content")
	}
	if v, ok := f["length"]; ok {
		number := string(v.(json.Number))
		if n, err := strconv.ParseUint(number, 10, 64); err != nil || n > math.MaxInt64 {
			panic("length")
		}
		content += ":" + number
	}
	if v, ok := f["hashes"]; ok {
		h := r.only(v, "md5", "sha-1", "sha-256")
		for _, name := range []string{"md5", "sha-1", "sha-256"} {
			if _, ok := h[name]; !ok {
				continue
			}
			size := map[string]int{"md5": 16, "sha-1": 20, "sha-256": 32}[name]
			sum := make([]byte, 0, size)
			if _, err := fmt.Sscanf(r.text(h, name), "%x", &sum); err != nil || len(r.text(h, name)) != 2*size || len(sum) != size {
				panic("hash")
			}
			content += fmt.Sprintf(":%x", sum)
		}
	}
	return x, content
}

func (r reference) record(v any) (rec model.Record, contents []string) {
	f := r.only(v, recordFields...)
	rec.Identifier, rec.Title, rec.Summary, rec.Modified = r.text(f, "identifier"), r.text(f, "title"), r.text(f, "summary"), r.text(f, "modified")
	for _, v := range r.list(f, "collections") {
		rec.Collections = append(rec.Collections, v.(string))
	}
	for _, v := range r.list(f, "links") {
		l := r.only(v, linkFields...)
		rec.Links = append(rec.Links, model.Link{Rel: r.text(l, "rel"), Href: r.text(l, "href"), Type: r.text(l, "type"), Hreflang: r.text(l, "hreflang"), Title: r.text(l, "title")})
	}
	if v, ok := f["deleted"]; ok {
		rec.Deleted = v.(bool)
	}
	for role, name := range []string{"representations", "files"} {
		for _, v := range r.list(f, name) {
			x, content := r.resource(v, model.Role(role))
			rec.Resources = append(rec.Resources, x)
			contents = append(contents, content)
		}
	}
	return rec, contents
}

// contents writes what sources say as reference does.
func contents(in *input) (all []string) {
	for i := range in.sources {
		s := &in.sources[i]
		text, _ := unescape(nil, s.text.raw, math.MaxInt)
		value := string(text) + s.file + in.Resources[i].Href
		c := resourceFields[s.field] + ":" + value
		if s.declared.length >= 0 {
			c += fmt.Sprintf(":%d", s.declared.length)
		}
		for _, sum := range [][]byte{s.declared.md5, s.declared.sha1, s.declared.sha256} {
			if sum != nil {
				c += fmt.Sprintf(":%x", sum)
			}
		}
		all = append(all, c)
	}
	return all
}

// surrogates finds escapes of surrogates, of which a half may be missing.
var surrogates = regexp.MustCompile(`(?i)\\ud[89a-f]`)

// FuzzDecode holds the decoder against encoding/json: it takes the same lines
// and reads the same values, but for lines that are not UTF-8 or escape half a
// surrogate pair, which encoding/json changes silently. Pairs are tested by
// TestSurrogates.
func FuzzDecode(f *testing.F) {
	f.Add(oneLine(everything))
	f.Add(line("urn:x:1"))
	for _, s := range []string{
		`{"identifier":"urn:example:1","deleted":true}`, ` { } `, `{"title":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000"}`, `{"title":"a","title":"b"}`,
		`{"title":null}`, `{"collections":[],"links":[ ],"files":[{"name":"f","href":"http://x","length":0}]}`, `{"files":[{"content":"","length":-0}]}`,
		`{"files":[{"content":"c","length":1e3}]}`, `{"files":[{"content":"c","hashes":{}}]}`, `{"deleted":false}x`, `{"title":"\ud83d\u0041"}`, `{"TITLE":"a"}`,
		`{"files":[{"content":"c","length":00}]}`, `{"files":[{"content_base64":"e30=","hashes":{"md5":"5D41402abc4b2a76b9719d911017c592"}}]}`, `[]`, `""`, `1`, ``,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		in, err := newDecoder("").decode([]byte(text))
		want, wantContents, wantErr := func() (r model.Record, c []string, err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("%v", p)
				}
			}()
			v, err := tree(text)
			if err == nil {
				r, c = reference{}.record(v)
			}
			return r, c, err
		}()
		if !utf8.ValidString(text) || surrogates.MatchString(text) {
			if err == nil && wantErr != nil {
				t.Fatalf("taken, but encoding/json says %v", wantErr)
			}
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, but encoding/json: %v", err, wantErr)
		}
		if err != nil {
			var field *model.FieldError
			if !errors.As(err, &field) {
				t.Fatalf("error of type %T", err)
			}
			return
		}
		if d := cmp.Diff(want, in.Record); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(wantContents, contents(in)); d != "" {
			t.Fatal(d)
		}
		for i := range in.sources {
			checkPieces(t, &in.sources[i].text)
		}
	})
}

func TestSurrogates(t *testing.T) {
	for text, want := range map[string]string{
		`\ud83d\ude00`: "\U0001F600", `\uDBFF\uDFFF`: "\U0010FFFF", `\ud800\udc00a`: "\U00010000a", `\ud83d\ude00\ud83d\ude01`: "\U0001F600\U0001F601",
		`\ud83d`: "", `\ude00`: "", `\ude00\ud83d`: "", `\ud83d\u0041`: "", `\ud83d\n`: "", `\ud83d\ud83d\ude00`: "", `\ud83dude00`: "",
	} {
		s := scanner{b: []byte(`"` + text + `"`)}
		x, err := s.text()
		if err != nil {
			t.Fatal(err)
		}
		checkPieces(t, &x)
		got := string(s.bytes(x))
		if x.half != (want == "") || want != "" && got != want {
			t.Errorf("%s is %q, half %v", text, got, x.half)
		}
		var viaJSON string
		if err := json.Unmarshal(s.b, &viaJSON); err != nil || viaJSON != got {
			t.Errorf("%s is %q, and %q to encoding/json, %v", text, got, viaJSON, err)
		}
	}
}

// checkPieces holds the ways to read a string against each other.
func checkPieces(t *testing.T, s *text) {
	whole, rest := unescape(nil, s.raw, math.MaxInt)
	if len(whole) != s.length || len(rest) > 0 {
		t.Fatalf("%q has %d bytes, said to have %d", whole, len(whole), s.length)
	}
	var pieces []byte
	for left := s.raw; len(left) > 0; {
		var p []byte
		if p, left = unescape(nil, left, 1); len(p) == 0 || len(p) > utf8.UTFMax {
			t.Fatalf("a piece of %d bytes", len(p))
		}
		pieces = append(pieces, p...)
	}
	if read, err := io.ReadAll(s.reader()); string(read) != string(whole) || string(pieces) != string(whole) || err != nil {
		t.Fatalf("%q, in pieces %q, streamed %q, %v", whole, pieces, read, err)
	}
}

// FuzzLine puts any line through everything but a store.
func FuzzLine(f *testing.F) {
	f.Add(oneLine(everything))
	f.Add(record(`"content_base64":"` + base64.StdEncoding.EncodeToString([]byte("hello")) + `"`))
	f.Add(atomRecord(`<entry xmlns='http://www.w3.org/2005/Atom'><link rel='self'/></entry>`, ""))
	f.Fuzz(func(t *testing.T, text string) {
		store := newFake(t)
		r, findings, err := store.run(Config{}, text)
		if err != nil && strings.Contains(err.Error(), "commit") {
			t.Fatal(err)
		}
		rejected := 0
		for _, x := range findings {
			if !strings.HasPrefix(x, "warning: ") {
				rejected++
			}
		}
		if int64(rejected) != r.Rejected {
			t.Fatalf("%+v, %v", r, findings)
		}
	})
}
