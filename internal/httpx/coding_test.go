package httpx

import (
	"net/http"
	"slices"
	"testing"
)

func TestCoding(t *testing.T) {
	const none = "406"
	for _, row := range []struct {
		accept         []string
		withGzip, bare string // what is chosen with gzip on offer, and without
	}{
		{nil, identity, identity},
		{[]string{""}, identity, identity},
		{[]string{"gzip"}, gzipped, identity},
		{[]string{"GZip"}, gzipped, identity},
		{[]string{"x-gzip"}, gzipped, identity},
		{[]string{"gzip, deflate, br, zstd"}, gzipped, identity},
		{[]string{"br", "gzip"}, gzipped, identity},
		{[]string{"br"}, identity, identity},
		{[]string{"*"}, identity, identity},
		{[]string{"gzip;q=0"}, identity, identity},
		{[]string{"gzip;q=0.000"}, identity, identity},
		{[]string{"gzip;q=0, *"}, identity, identity},
		{[]string{"gzip;q=0.001"}, gzipped, identity},
		{[]string{"gzip;q=0.5, identity;q=0.6"}, identity, identity},
		{[]string{"gzip;q=0.6, identity;q=0.6"}, gzipped, identity},
		{[]string{"gzip ; q=0.6 , identity; Q=0.5"}, gzipped, identity},
		{[]string{"gzip;q=0.5, *;q=0.8"}, identity, identity},
		{[]string{"gzip, *;q=0"}, gzipped, none},
		{[]string{"identity;q=0"}, none, none},
		{[]string{"identity;q=0, *"}, gzipped, none},
		{[]string{"identity;q=0, gzip;q=0.1"}, gzipped, none},
		{[]string{"identity;q=0, gzip;q=0"}, none, none},
		{[]string{"*;q=0"}, none, none},
		{[]string{"*;q=0, identity"}, identity, identity},
		{[]string{"gzip;q=2"}, identity, identity},
		{[]string{"gzip;q="}, identity, identity},
		{[]string{"gzip;q=0.1234"}, identity, identity},
		{[]string{",, gzip,"}, gzipped, identity},
	} {
		for hasGzip, want := range map[bool]string{true: row.withGzip, false: row.bare} {
			got, ok := coding(http.Header{"Accept-Encoding": row.accept}, offer{gzip: hasGzip})
			if !ok {
				got = none
			}
			if got != want {
				t.Errorf("%q, gzip on offer %v: %q, want %q", row.accept, hasGzip, got, want)
			}
		}
	}
}

func TestCodingAmongThree(t *testing.T) {
	for accept, want := range map[string]string{
		"":                               identity,
		"gzip, deflate, br, zstd":        zstandard,
		"zstd":                           zstandard,
		"ZSTD;q=0.5, gzip;q=0.4":         zstandard,
		"zstd;q=0.4, gzip;q=0.5":         gzipped,
		"zstd;q=0, gzip":                 gzipped,
		"zstd;q=0.5, identity":           identity,
		"zstd;q=0.5, gzip, identity":     gzipped,
		"*":                              identity,
		"identity;q=0, *":                zstandard,
		"identity;q=0, *, zstd;q=0":      gzipped,
		"identity;q=0, *;q=0.1, gzip":    gzipped,
		"gzip;q=0.2, zstd;q=0.2, *;q=0":  zstandard,
		"gzip;q=0.2, zstd;q=0.1, *;q=.3": identity,
	} {
		if got, ok := coding(http.Header{"Accept-Encoding": {accept}}, offer{gzip: true, zstd: true}); got != want || !ok {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
	}
}

func TestItems(t *testing.T) {
	got := slices.Collect(Items([]string{`a, "b,c" ,, d;p="x\",y"`, "", " e "}))
	if want := []string{"a", `"b,c"`, `d;p="x\",y"`, "e"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAddVary(t *testing.T) {
	h := http.Header{}
	AddVary(h, "Accept", "Accept-Language")
	AddVary(h, "Accept-Encoding", "accept")
	if got := h["Vary"]; len(got) != 1 || got[0] != "Accept, Accept-Language, Accept-Encoding" {
		t.Errorf("%q", got)
	}
}

func FuzzCoding(f *testing.F) {
	f.Add("gzip;q=0.5, identity;q=0, zstd", true, true)
	f.Add(`"gzip`, false, true)
	f.Fuzz(func(t *testing.T, accept string, gzip, zstd bool) {
		got, ok := coding(http.Header{"Accept-Encoding": {accept}}, offer{gzip, zstd})
		if got != identity && (got == gzipped && !gzip || got == zstandard && !zstd || !ok) {
			t.Errorf("%q", got)
		}
	})
}
