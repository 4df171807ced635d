package resource

import (
	"net/http"
	"testing"

	"gateway/model"
)

func FuzzNegotiate(f *testing.F) {
	offered := []*model.Resource{
		{Name: "dc", Type: "application/xml", Profile: "urn:dc"},
		{Name: "de", Type: "text/html", Hreflang: "de"},
		{Name: "odd", Type: "not a type"},
	}
	f.Add("text/*;q=0.3, text/html;q=0.7", "da, en-gb;q=0.8", true)
	f.Add(`application/xml;profile="urn:dc"`, "*", true)
	f.Add(`a/b;q="0.5";c`, "-", false)
	f.Fuzz(func(t *testing.T, accept, language string, star bool) {
		h := http.Header{"Accept": {accept}, "Accept-Language": {language}}
		chosen := negotiate(h, offered)
		delete(h, "Accept-Language")
		if (negotiate(h, offered) == nil) != (chosen == nil) {
			t.Error("a language decides whether there is an answer")
		}
		if !star {
			return
		}
		h["Accept"] = []string{accept, "*/*;q=1"}
		if got := negotiate(h, offered[2:]); got == nil && len(acceptedTypes([]string{accept})) == 0 {
			t.Error("*/* is refused")
		}
	})
}
