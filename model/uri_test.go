package model_test

import (
	"errors"
	"testing"

	"gateway/model"
)

func FuzzParseResourceURI(f *testing.F) {
	const base, set = "https://repo.example.org/gw", "rivers"
	for _, s := range []string{"1/oai_dc.xml", "12/th%C3%A9sis%20%26.pdf", "12/a%2Fb", "1/%", "1/a%2fb", "01/a", "0/a", "1/", "1", "/a", "1/a/b", "1/a?x", "99999999999999999999/a"} {
		f.Add(base + "/r/" + set + "/" + s)
	}
	f.Add(base + "/r/lakes/1/a")
	f.Fuzz(func(t *testing.T, uri string) {
		number, name, err := model.ParseResourceURI(uri, base, set)
		if err != nil {
			if !errors.Is(err, model.ErrNotFound) {
				t.Error(err)
			}
			return
		}
		if got := string(model.AppendResourceURI(nil, base, set, number, name)); got != uri {
			t.Errorf("%q is %d and %q, which is %q", uri, number, name, got)
		}
	})
}

func TestParseResourceURI(t *testing.T) {
	const base, set = "https://repo.example.org/gw", "rivers"
	for _, name := range []string{"oai_dc.xml", "thésis & <more>.pdf", "100%", "a+b", "~", "..."} {
		uri := string(model.AppendResourceURI(nil, base, set, 12, name))
		if number, got, err := model.ParseResourceURI(uri, base, set); number != 12 || got != name || err != nil {
			t.Errorf("%s is %d, %q, %v", uri, number, got, err)
		}
	}
	for _, uri := range []string{"", base, base + "/r/rivers", base + "/r/rivers/1", base + "/r/rivers/1/", base + "/r/rivers/01/a",
		base + "/r/lakes/1/a", "http://repo.example.org/gw/r/rivers/1/a", base + "/r/rivers/1/a/b", base + "/r/rivers/1/%61"} {
		if number, name, err := model.ParseResourceURI(uri, base, set); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("%q is %d, %q, %v", uri, number, name, err)
		}
	}
}
