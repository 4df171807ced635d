package resource

import (
	"strings"

	"github.com/gin-gonic/gin"

	"gateway/internal/httpx"
	"gateway/model"
)

// maxLinks is how many bytes of links an answer has at most: proxies give up on
// headers of more than 4 KiB in all. The links that matter most come first, and
// all of them are in the set's lists.
const maxLinks = 3000

// links is the value of one Link header (RFC 8288 §3).
type links struct{ strings.Builder }

// add appends a link unless it would be too much.
func (l *links) add(rel, href string, params ...string) {
	link := "<" + href + `>; rel="` + rel + `"`
	for i := 0; i < len(params); i += 2 {
		if params[i+1] != "" {
			link += "; " + params[i] + "=" + quote(params[i+1])
		}
	}
	if l.Len()+len(link) > maxLinks {
		return
	}
	if l.Len() > 0 {
		l.WriteString(", ")
	}
	l.WriteString(link)
}

// quote makes a quoted-string (RFC 9110 §5.6.4).
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func (l *links) send(c *gin.Context) { c.Header("Link", l.String()) }

// begin starts with the links of every answer: the Capability List that covers
// it (ResourceSync 1.1 §6.3.3), and the profile (RFC 6906) of what is sent.
func (h *Handler) begin(k *known, r *model.Resource) *links {
	var l links
	l.add("resourcesync", k.view.Epoch.BaseURL+h.capabilityList(k.view.Set.Name))
	if r != nil && r.Profile != "" {
		l.add("profile", r.Profile)
	}
	return &l
}

// linkRecord leads from the record to its representations, which are specific
// where it is generic (ResourceSync 1.1 §14.2).
func (h *Handler) linkRecord(c *gin.Context, k *known, hosted []*model.Resource, chosen *model.Resource) {
	l := h.begin(k, chosen)
	for _, r := range hosted {
		l.add("alternate", k.resourceURI(r.Name), "type", r.MediaType(), "hreflang", r.Hreflang)
	}
	l.send(c)
}

// linkResource leads from a representation to its record, and between the first
// representation and the files it describes.
func (h *Handler) linkResource(c *gin.Context, k *known, r *model.Resource) {
	l := h.begin(k, r)
	hosted := hostedRepresentations(k.change)
	switch {
	case r.Role == model.File:
		if len(hosted) > 0 {
			l.add("describedby", k.resourceURI(hosted[0].Name), "type", hosted[0].MediaType())
		}
	default:
		l.add("canonical", k.uri())
		if r.Name != hosted[0].Name {
			break
		}
		for _, f := range k.change.Files() {
			if !f.External() {
				l.add("describes", k.resourceURI(f.Name), "type", f.MediaType())
			}
		}
	}
	l.send(c)
}

func alternates(k *known, hosted []*model.Resource) []httpx.Alternate {
	list := make([]httpx.Alternate, 0, len(hosted))
	for _, r := range hosted {
		list = append(list, httpx.Alternate{Href: k.resourceURI(r.Name), Type: r.MediaType(), Hreflang: r.Hreflang})
	}
	return list
}
