package main

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"

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
	log   *slog.Logger
	page  *template.Template
}

type homeSource interface {
	Views(ctx context.Context, after string, limit int) ([]model.View, error)
	View(ctx context.Context, set, renderer string) (model.View, error)
	BaseURL(ctx context.Context) (string, error)
	Ready(ctx context.Context) error
}

func newHome(s homeSource, log *slog.Logger) *home {
	return &home{store: s, log: log, page: template.Must(template.New("home").Parse(homeHTML))}
}

func (h *home) register(r gin.IRoutes) {
	httpx.GET(r, "/", h.start)
	httpx.GET(r, "/sets/:set", h.set)
	httpx.GET(r, "/healthz", func(c *gin.Context) { c.String(http.StatusOK, "ok\n") })
	httpx.GET(r, "/readyz", h.ready)
}

// homeSet is a set as the page shows it.
type homeSet struct {
	model.Set
	Records string // "12 records"
	Changes string
	Updated model.Time

	Page         string
	Feed         string
	ResourceList string
	ChangeList   string
	// Capabilities is where its Capability List is, and Link the HTML element
	// that names it on the pages about the set's records (ResourceSync 1.1
	// §6.3.3).
	Capabilities string
	Link         string
}

// homePage is what home.html shows: the first sets, or one.
type homePage struct {
	Base string
	One  bool
	Sets []homeSet
	More bool
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
	page := homePage{Base: base, More: len(views) > homeSets}
	for _, v := range views[:min(len(views), homeSets)] {
		page.Sets = append(page.Sets, showSet(base, &v))
	}
	h.serve(c, page)
}

// set is the page that the documents of a set name as its description.
func (h *home) set(c *gin.Context) {
	v, err := h.store.View(c.Request.Context(), c.Param("set"), "")
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	base := v.Epoch.BaseURL
	h.serve(c, homePage{Base: base, One: true, Sets: []homeSet{showSet(base, &v)}})
}

func (h *home) serve(c *gin.Context, page homePage) {
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
		Set: v.Set, Records: count(v.Head.Records, "record"), Changes: count(int64(v.Head.Position), "change"), Updated: changed,
		Page:         base + "/sets/" + v.Set.Name,
		Feed:         base + atompmh.SubscriptionPath(v.Set.Name),
		ResourceList: base + resourcesync.ResourceListPath(v.Set.Name),
		ChangeList:   base + resourcesync.ChangeListIndexPath(v.Set.Name),
		Capabilities: capabilities,
		// Nothing in the URL needs escaping: the base URL and set names are checked.
		Link: `<link rel="resourcesync" type="application/xml" href="` + capabilities + `"/>`,
	}
}

func count(n int64, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return strconv.FormatInt(n, 10) + " " + of + "s"
}

func (h *home) ready(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	if err := h.store.Ready(c.Request.Context()); err != nil {
		// A probe asks whether; why is for the operator.
		h.log.Warn("not ready", "error", err)
		c.String(http.StatusServiceUnavailable, "not ready\n")
		return
	}
	c.String(http.StatusOK, "ready\n")
}
