// Package httpx answers HTTP requests for documents and content.
package httpx

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"gateway/model"
)

// Caching says how long an answer may be kept.
type Caching int

const (
	Moving    Caching = iota // a document that goes on: revalidated at each use
	Immutable                // a document that never changes under its URL
	Resource                 // a representation or file: revalidated, with ranges
)

// Stored is a body that is kept with its sums: a sealed document or hosted
// content.
type Stored struct {
	Type         string // Content-Type
	Content      model.Content
	LastModified model.Time // 0: none
	Caching      Caching
	// Open opens the kept bytes: raw DEFLATE if Content.Deflated.
	Open func(ctx context.Context) (model.Kept, error)
}

// Rendered is a document made on request.
type Rendered struct {
	Type         string
	ETag         string     // opaque, without quotes; "": the SHA-256 of the bytes
	LastModified model.Time // 0: none
	Caching      Caching
	// Render appends the document to b. It is called only when the document is
	// needed, not for a 304 with a known ETag.
	Render func(b []byte) ([]byte, error)
}

// ServeStored answers with s.
func ServeStored(c *gin.Context, s Stored) {}

// ServeRendered answers with r.
func ServeRendered(c *gin.Context, r Rendered) {}

// Fail answers with the problem that err is.
func Fail(c *gin.Context, err error) { c.AbortWithStatus(http.StatusInternalServerError) }

// GET registers handlers for GET and HEAD.
func GET(r gin.IRoutes, path string, handlers ...gin.HandlerFunc) {
	r.GET(path, handlers...)
	r.HEAD(path, handlers...)
}

// Option changes an engine made by New.
type Option func(*gin.Engine)

// WithClock lets the engine read the time from now.
func WithClock(now func() time.Time) Option { return func(*gin.Engine) {} }

// New is an engine without routes.
func New(log *slog.Logger, access *slog.Logger, options ...Option) *gin.Engine { return gin.New() }

// UnderBase answers with and without the base URL's path prefix.
func UnderBase(h http.Handler, basePath func() string) http.Handler { return h }
