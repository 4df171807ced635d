package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func none(string) (string, bool) { return "", false }

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrecedence(t *testing.T) {
	env := map[string]string{"GATEWAY_LISTEN": ":1", "GATEWAY_DATA": ""}
	s := New(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	path := write(t, "# ours\nlisten: :2\ndata: /srv/gateway\nlog-level:\n")
	if err := s.Load(path, []string{"listen", "data", "log-level"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag, origin string
		value        any
		ok           bool
	}{
		{"listen", "environment variable GATEWAY_LISTEN", ":1", true},
		{"data", path + ":3: data", "/srv/gateway", true},
		{"log-level", "", nil, false},
		{"base-url", "", nil, false},
	} {
		value, origin, ok := s.Lookup(c.flag)
		if value != c.value || origin != c.origin || ok != c.ok {
			t.Errorf("Lookup(%q) = %v, %q, %t; want %v, %q, %t", c.flag, value, origin, ok, c.value, c.origin, c.ok)
		}
	}
}

func TestParse(t *testing.T) {
	flags := []string{"sample", "max-deletes", "policy", "base-url", "file"}
	got, err := parse(strings.NewReader("sample: yes\nmax-deletes: 010\npolicy: {segment_size: 5}\nfile: [a, 2]\n"), flags)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"sample": "yes", "max-deletes": "010",
		"policy": map[string]any{"segment_size": "5"}, "file": []any{"a", "2"},
	}
	plain := map[string]any{}
	for k, v := range got {
		plain[k] = v.v
	}
	if d := cmp.Diff(want, plain); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]string{
		"":                            "",
		"# nothing\n":                 "",
		"---\n":                       "",
		"- a":                         "line 1: want keys with values",
		"base_url: x":                 `line 1: unknown key "base_url"; did you mean "base-url"?`,
		"sample: 1\nsegments: 2":      `line 2: unknown key "segments"`,
		"sample: 1\nsample: 2":        `line 2: key "sample" stands twice`,
		"policy: {a: {b: c}}":         "line 1: policy: line 1: want a text",
		"sample: 1\n---\nsample: 2\n": "has more than one document",
		"sample: [":                   "yaml: ",
		"file: &x [a]\npolicy: *x":    "",
	} {
		_, err := parse(strings.NewReader(text), flags)
		if got := errorText(err); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("parse(%q): %q, want %q", text, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestLoadMissing(t *testing.T) {
	err := New(none).Load(filepath.Join(t.TempDir(), "no.yaml"), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "open configuration: ") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"listen: :1", "a: [b", "listen: {x: y}", "listen: &a\n  - *a", "---\n...\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parse(strings.NewReader(text), []string{"listen"})
		if err != nil {
			return
		}
		for k := range values {
			if k != "listen" {
				t.Errorf("accepts the key %q", k)
			}
		}
	})
}
