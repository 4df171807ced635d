package dump_test

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gateway/dump"
)

func TestPaths(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"oai_dc.xml", "oai_dc.xml"},
		{"README.TXT", "!r!e!a!d!m!e.!t!x!t"},
		{"a.xml", "a.xml"},
		{"A.xml", "!a.xml"},
		{"Final Report (2).pdf", "!final=20!report=20=282=29.pdf"},
		{"Übersicht", "=c3=9cbersicht"},
		{"!=~", "=21=3d=7e"},
		{".htaccess", "=2ehtaccess"},
		{"trailing.", "trailing=2e"},
		{"trailing ", "trailing=20"},
		{"...", "=2e.=2e"},
		{"c:stream", "c=3astream"},
		{"con", "=63on"},
		{"con.tar.gz", "=63on.tar.gz"},
		{"con.XML", "=63on.!x!m!l"},
		{"CON", "!c!o!n"},
		{"lpt9.txt", "=6cpt9.txt"},
		{"com10", "com10"},
		{"console", "console"},
		{strings.Repeat("a", 100), strings.Repeat("a", 100)},
		{strings.Repeat("a", 97) + ".xml", strings.Repeat("a", 62) + "==ee029f45b7f4f7c81666c33f6a07114f.xml"},
		{strings.Repeat("ü", 60), strings.Repeat("=c3=bc", 11) + "==abb4f2535c4be1aeb09cd8c053cfd803"},
	} {
		if got := string(dump.AppendResourcePath(nil, 7, c.name)); got != "resources/7/"+c.want {
			t.Errorf("%q: got %s, want resources/7/%s", c.name, got, c.want)
		}
		if got := string(dump.AppendChangePath([]byte("/"), 123, c.name)); got != "/changes/123/"+c.want {
			t.Errorf("%q: got %s, want /changes/123/%s", c.name, got, c.want)
		}
	}
}

var (
	safeName = regexp.MustCompile(`^[a-z0-9_!=-]([a-z0-9._!=-]*[a-z0-9_!=-])?$`)
	device   = regexp.MustCompile(`^(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

// unescape turns an escaped name back, unless it was shortened.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '!':
			i++
			b.WriteString(strings.ToUpper(s[i : i+1]))
		case '=':
			if s[i+1] == '=' {
				return "", false
			}
			b.Write(must(hex.DecodeString(s[i+1 : i+3])))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), true
}

func TestPathsAreSafeAndDiffer(t *testing.T) {
	t.Run("RS-RDM-05 member paths are safe everywhere", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			name := rapid.OneOf(
				rapid.StringN(1, 60, 255),
				rapid.StringMatching(`(?i)(con|nul|lpt1|a+)(\.[a-z. A-Z]{0,8})?`),
				rapid.StringMatching(`[!-~]{1,255}`),
			).Draw(t, "name")
			if strings.ContainsAny(name, `/\`) || name == "." || name == ".." {
				return
			}
			path := string(dump.AppendResourcePath(nil, 1, name))
			escaped, _ := strings.CutPrefix(path, "resources/1/")
			if !safeName.MatchString(escaped) || device.MatchString(escaped) || len(escaped) > 100 {
				t.Fatalf("%q became %s", name, escaped)
			}
			if back, whole := unescape(escaped); whole && back != name {
				t.Fatalf("%q became %s, which is %q", name, escaped, back)
			} else if !whole && len(escaped) > 100 {
				t.Fatalf("%q was shortened to %d bytes", name, len(escaped))
			}
		})
	})
	t.Run("shortened names differ", func(t *testing.T) {
		seen := map[string]string{}
		for i := range 1000 {
			name := strings.Repeat("Ü x", 30) + fmt.Sprintf("%d.xml", i)
			path := string(dump.AppendResourcePath(nil, 1, name))
			if other, ok := seen[path]; ok {
				t.Fatalf("%q and %q are both %s", name, other, path)
			}
			seen[path] = name
		}
	})
}
