package httpx

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"gateway/model"
)

// Option changes what [New] makes.
type Option func(*surroundings)

// WithClock lets the engine read the time from now instead of the system.
func WithClock(now func() time.Time) Option {
	return func(s *surroundings) { s.now = now }
}

// WithTransfers bounds how many bodies are sent at a time, sealed documents
// aside; more are answered 503.
func WithTransfers(n int) Option {
	return func(s *surroundings) { s.transfers.max = int64(n) }
}

// New is an engine without routes. Mistakes go to log, a line per request to
// access. A path matches as it is: no redirect adds or removes a slash or changes
// case. Parameters arrive decoded once, whatever they hold; a known path with
// another method is 405 with Allow.
func New(log *slog.Logger, access *slog.Logger, options ...Option) *gin.Engine {
	around := newSurroundings(log)
	for _, o := range options {
		o(around)
	}
	gin.SetMode(gin.ReleaseMode) // otherwise Gin prints its routes to standard output
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	e.ForwardedByClientIP = false // nothing we say depends on forwarded headers
	// Routes match the path as it came, so that %2F stays within its segment.
	// Gin would decode parameters as a query, where a plus is a space.
	e.UseEscapedPath = true
	e.UnescapePathValues = false
	e.Use(
		func(c *gin.Context) { c.Writer = &writer{ResponseWriter: c.Writer, around: around} },
		logAccess(access, around.now),
		recovery,
		decodeParams,
	)
	e.NoRoute(func(c *gin.Context) { Fail(c, model.ErrNotFound) })
	e.NoMethod(func(c *gin.Context) { Fail(c, problem(ProblemMethod)) })
	return e
}

// GET registers handlers for GET and, since Gin would answer it with 404, HEAD.
func GET(r gin.IRoutes, path string, handlers ...gin.HandlerFunc) {
	r.GET(path, handlers...)
	r.HEAD(path, handlers...)
}

func decodeParams(c *gin.Context) {
	for i := range c.Params {
		p := &c.Params[i]
		if !strings.Contains(p.Value, "%") {
			continue
		}
		value, err := url.PathUnescape(p.Value)
		if err != nil {
			Fail(c, model.ErrNotFound)
			return
		}
		p.Value = value
	}
}

// withdraw takes away what a handler said about a document that is not sent after
// all.
func withdraw(h http.Header) {
	for _, name := range []string{
		"Accept-Ranges", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language",
		"Content-Length", "Content-Location", "Content-Range", "Content-Type", "Etag", "Last-Modified",
	} {
		delete(h, name)
	}
}
