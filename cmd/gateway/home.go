package main

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"gateway/atompmh"
	"gateway/internal/httpx"
	"gateway/model"
	"gateway/resourcesync"
)

// homeSets is how many sets the start page shows.
const homeSets = 50

//go:embed home.html
var homeHTML string

// home is the start page for people, and what tells machines whether this
// process is alive and whether it can serve.
type home struct {
	store homeSource
	page  *template.Template
}

type homeSource interface {
	Views(ctx context.Context, after string, limit int) ([]model.View, error)
	BaseURL(ctx context.Context) (string, error)
	Ready(ctx context.Context) error
}

func newHome(s homeSource) *home {
	return &home{store: s, page: template.Must(template.New("home").Parse(homeHTML))}
}

func (h *home) register(r gin.IRoutes) {
	httpx.GET(r, "/", h.start)
	httpx.GET(r, "/healthz", func(c *gin.Context) { c.String(http.StatusOK, "ok\n") })
	httpx.GET(r, "/readyz", h.ready)
}

// homeSet is a set as the page shows it.
type homeSet struct {
	model.Set
	Head    model.Head
	Updated string
	Feed    string
	List    string
	Changes string
	Link    string // the HTML element for the pages about the set's records
}

func (h *home) start(c *gin.Context) {
	ctx := c.Request.Context()
	base, err := h.store.BaseURL(ctx)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	views, err := h.store.Views(ctx, "", homeSets+1)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	page := struct {
		Base string
		Sets []homeSet
		More bool
	}{Base: base, More: len(views) > homeSets}
	for _, v := range views[:min(len(views), homeSets)] {
		page.Sets = append(page.Sets, showSet(base, &v))
	}
	httpx.ServeRendered(c, httpx.Rendered{
		Type:    "text/html; charset=utf-8",
		Caching: httpx.Moving,
		Render: func(b []byte) ([]byte, error) {
			w := bytes.NewBuffer(b)
			err := h.page.Execute(w, page)
			return w.Bytes(), err
		},
	})
}

func showSet(base string, v *model.View) homeSet {
	_, changed := v.Shown()
	capabilities := base + resourcesync.CapabilityListPath(v.Set.Name)
	return homeSet{
		Set: v.Set, Head: v.Head, Updated: changed.String(),
		Feed:    base + atompmh.SubscriptionPath(v.Set.Name),
		List:    base + resourcesync.ResourceListPath(v.Set.Name),
		Changes: base + resourcesync.ChangeListIndexPath(v.Set.Name),
		// ResourceSync 1.1 §6.3.3: a page names the Capability List that covers it.
		Link: `<link rel="resourcesync" type="application/xml" href="` + strings.ReplaceAll(capabilities, "&", "&amp;") + `"/>`,
	}
}

func (h *home) ready(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	if err := h.store.Ready(c.Request.Context()); err != nil {
		// Why is in the log; a probe asks whether.
		c.String(http.StatusServiceUnavailable, "not ready\n")
		return
	}
	c.String(http.StatusOK, "ready\n")
}
