package main

import (
	"errors"
	"net"
	"strings"
	"testing"

	"gateway/model"
)

func TestParseBaseURL(t *testing.T) {
	long := "https://example.org/" + strings.Repeat("a", model.MaxBaseURL)
	for in, want := range map[string]string{
		"https://example.org":               "https://example.org",
		"https://example.org/":              "https://example.org",
		"HTTPS://Example.ORG:8443/Repo//":   "https://example.org:8443/Repo",
		"http://[::1]:8080":                 "http://[::1]:8080",
		"http://localhost:8080/a/b%20c":     "http://localhost:8080/a/b%20c",
		"https://xn--bcher-kva.example/~me": "https://xn--bcher-kva.example/~me",
		long[:model.MaxBaseURL]:             long[:model.MaxBaseURL],
		long:                                "",
		"":                                  "",
		"example.org":                       "",
		"//example.org":                     "",
		"ftp://example.org":                 "",
		"http:example.org":                  "",
		"http://":                           "",
		"http://:8080":                      "",
		"http://user:secret@example.org":    "",
		"http://example.org?a=b":            "",
		"http://example.org/?":              "",
		"http://example.org/#top":           "",
		"http://example.org/a//b":           "",
		"http://example.org/a/../b":         "",
		"http://example.org/a b":            "http://example.org/a%20b",
		"http://example.org/a&b":            "",
		"http://example.org/%2e":            "",
		"http://example.org/atom":           "",
		"http://example.org/r/x":            "",
		"http://example.org/x/atom":         "http://example.org/x/atom",
		"http://example.org/a%2Fb":          "http://example.org/a%2Fb",
		"http://example.org/é":              "http://example.org/%C3%A9",
		"http://exämple.org":                "",
		`http://a"b.example`:                "",
		"http://a<b.example":                "",
		"http://example.org:port":           "",
		"http://example.org/\x00":           "",
	} {
		got, err := parseBaseURL(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("parseBaseURL(%q) = %q, %v; want %q", in, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("parseBaseURL(%q) tells the password: %v", in, err)
		}
	}
}

func FuzzParseBaseURL(f *testing.F) {
	for _, s := range []string{"http://example.org/a%20b/", "https://[::1]:1/", "http://a/%7e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		base, err := parseBaseURL(s)
		if err != nil {
			return
		}
		if again, err := parseBaseURL(base); again != base || err != nil {
			t.Errorf("%q becomes %q, and that %q, %v", s, base, again, err)
		}
		if strings.ContainsAny(base, "<>&\"' \\?#") || strings.HasSuffix(base, "/") {
			t.Errorf("%q becomes %q, which cannot stand in a document as it is", s, base)
		}
	})
}

func TestDeriveBaseURL(t *testing.T) {
	bound := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	web := &net.TCPAddr{IP: net.IPv6loopback, Port: 80}
	for _, c := range []struct {
		asked string
		bound net.Addr
		want  string
	}{
		{"127.0.0.1:8080", bound, "http://127.0.0.1:8080"},
		{"127.0.0.1:0", bound, "http://127.0.0.1:8080"},
		{":8080", bound, "http://localhost:8080"},
		{"0.0.0.0:8080", bound, "http://localhost:8080"},
		{"[::]:8080", bound, "http://localhost:8080"},
		{"Archive.Example:8080", bound, "http://archive.example:8080"},
		{"[::1]:80", web, "http://[::1]"},
		{":http", web, "http://localhost"},
	} {
		if got, err := deriveBaseURL(c.asked, c.bound); got != c.want || err != nil {
			t.Errorf("deriveBaseURL(%q) = %q, %v; want %q", c.asked, got, err, c.want)
		}
	}
}

func TestBaseURLChoice(t *testing.T) {
	const a, b, local, local2 = "https://a.example", "https://b.example", "http://127.0.0.1:8080", "http://localhost:9000"
	for _, c := range []struct {
		name     string
		has      string
		chosen   bool
		explicit string
		derived  string
		replace  bool
		want     string
		choose   bool
		refused  bool
	}{
		{"a new store takes the explicit one", "", false, a, local, true, a, true, false},
		{"a new store takes the derived one", "", false, "", local, true, local, false, false},
		{"import in a new store takes the default", "", false, "", local, false, local, false, false},
		{"the same explicit one again", a, true, a, local, true, a, true, false},
		{"another explicit one needs a rebase", a, true, b, local, true, a, true, true},
		{"import with another explicit one too", a, true, b, local, false, a, true, true},
		{"a derived one leaves an explicit one", a, true, "", local, true, a, true, false},
		{"a derived one replaces a derived one", local, false, "", local2, true, local2, false, false},
		{"import leaves a derived one", local, false, "", local2, false, local, false, false},
		{"an explicit one replaces a derived one", local, false, a, local, true, a, true, false},
		{"an explicit one equal to the derived one is chosen from now on", local, false, local, local, true, local, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, choose, err := baseURLChoice(c.has, c.chosen, c.explicit, c.derived, c.replace)
			if c.refused {
				var usage usageError
				if !errors.As(err, &usage) || !strings.Contains(err.Error(), "gateway rebase "+c.explicit) {
					t.Fatalf("got %q, %v; want a usage error that names gateway rebase", base, err)
				}
				return
			}
			if base != c.want || choose != c.choose || err != nil {
				t.Errorf("got %q, %t, %v; want %q, %t", base, choose, err, c.want, c.choose)
			}
		})
	}
}
