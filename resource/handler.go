package resource

import (
	"context"
	"hash/fnv"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"gateway/internal/httpx"
	"gateway/model"
)

// known is a record of a set, as its newest change shows it.
type known struct {
	view   model.View
	change *model.Change
}

// uri is the URI of the record.
func (k *known) uri() string {
	return string(model.AppendRecordURI(nil, k.view.Epoch.BaseURL, k.view.Set.Name, k.change.Record))
}

// resourceURI is the URI of one of its resources.
func (k *known) resourceURI(name string) string {
	return string(model.AppendResourceURI(nil, k.view.Epoch.BaseURL, k.view.Set.Name, k.change.Record, name))
}

// find looks up the record that the path names.
func (h *Handler) find(c *gin.Context) (*known, error) {
	number, err := model.ParseRecordNumber(c.Param("record"))
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	view, err := h.source.View(ctx, c.Param("set"), "")
	if err != nil {
		return nil, err
	}
	change, err := h.source.Record(ctx, view.Set.ID, number)
	if err != nil {
		return nil, err
	}
	return &known{view: view, change: change}, nil
}

func (h *Handler) byIdentifier(c *gin.Context) {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	identifier := query["identifier"]
	if err != nil || len(identifier) != 1 || identifier[0] == "" {
		httpx.Fail(c, &model.FieldError{Field: "identifier", Reason: "want one record's identifier, percent-encoded, as in ?identifier=urn:example:1"})
		return
	}
	ctx := c.Request.Context()
	view, err := h.source.View(ctx, c.Param("set"), "")
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	change, err := h.source.RecordByIdentifier(ctx, view.Set.ID, identifier[0])
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	if !change.Live() {
		httpx.Fail(c, model.ErrGone)
		return
	}
	k := known{view: view, change: change}
	c.Header("Location", k.uri())
	c.Header("Cache-Control", "no-store")
	c.Header("Content-Length", "0")
	c.Status(http.StatusSeeOther)
}

// record answers with the representation that fits the request best.
func (h *Handler) record(c *gin.Context) {
	k, err := h.find(c)
	if err == nil && !k.change.Live() {
		err = model.ErrGone
	}
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	hosted := hostedRepresentations(k.change)
	httpx.AddVary(c.Writer.Header(), "Accept", "Accept-Language")
	chosen := negotiate(c.Request.Header, hosted)
	h.linkRecord(c, k, hosted, chosen)
	if chosen == nil {
		httpx.Fail(c, httpx.NotAcceptable("the record has no representation of an acceptable type", alternates(k, hosted)))
		return
	}
	c.Header("Content-Location", k.resourceURI(chosen.Name))
	h.serve(c, k, chosen)
}

// resource answers with one representation or file by name.
func (h *Handler) resource(c *gin.Context) {
	k, err := h.find(c)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	name := c.Param("name")
	r := k.change.Resource(name)
	if r == nil || r.External() {
		httpx.Fail(c, h.absent(c.Request.Context(), k, name))
		return
	}
	h.linkResource(c, k, r)
	h.serve(c, k, r)
}

// maxHistory is how many changes of a record are read to tell 410 from 404.
const maxHistory = 256

// absent tells whether a name that the record does not have was a resource of
// ours once (ErrGone) or not, as far as the record's latest changes say
// (ErrNotFound, which nobody may keep).
func (h *Handler) absent(ctx context.Context, k *known, name string) error {
	dropped, previous := k.change.Dropped, k.change.Previous
	for range maxHistory {
		if slices.ContainsFunc(dropped, func(d model.Dropped) bool { return d.Name == name && !d.External }) {
			return model.ErrGone
		}
		if previous == 0 {
			break
		}
		for change, err := range h.source.Changes(ctx, k.view.Set.ID, previous-1, previous) {
			if err != nil {
				return err
			}
			dropped, previous = slices.Clone(change.Dropped), change.Previous
		}
	}
	return model.ErrNotFound
}

func (h *Handler) serve(c *gin.Context, k *known, r *model.Resource) {
	protect(c.Writer.Header(), r)
	if r.Hreflang != "" {
		c.Header("Content-Language", r.Hreflang)
	}
	set, key := k.view.Set.ID, r.Key
	httpx.ServeStored(c, httpx.Stored{
		Type: r.MediaType(), Content: r.Content, Variant: variant(r), LastModified: r.Time, Caching: httpx.Resource,
		Open: func(ctx context.Context) (model.Kept, error) { return h.source.OpenContent(ctx, set, key) },
	})
}

// variant tells apart the representations of a record that have equal bytes, and
// versions of a resource that differ in nothing but type or language.
func variant(r *model.Resource) string {
	sum := fnv.New64a()
	for _, s := range []string{r.Name, r.MediaType(), r.Hreflang} {
		_, _ = io.WriteString(sum, s+"\n")
	}
	return strconv.FormatUint(sum.Sum64(), 36)
}

// protect keeps hosted content from acting as a part of this site: a browser
// takes it for what its type says, and runs scripts in it, if at all, under an
// origin of its own. PDF has no access to the origin, and browsers show none in a
// sandbox.
func protect(header http.Header, r *model.Resource) {
	header["X-Content-Type-Options"] = []string{"nosniff"}
	if base, _, err := mime.ParseMediaType(r.Type); err != nil || base != "application/pdf" {
		header["Content-Security-Policy"] = []string{"sandbox"}
	}
}

func hostedRepresentations(c *model.Change) []*model.Resource {
	var hosted []*model.Resource
	representations := c.Representations()
	for i := range representations {
		if r := &representations[i]; !r.External() {
			hosted = append(hosted, r)
		}
	}
	return hosted
}
