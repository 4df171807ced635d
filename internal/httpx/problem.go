package httpx

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"gateway/model"
)

// Types of problems. They are stable: clients branch on them.
// docs/format/problems.md lists them.
const (
	ProblemNotFound      = "urn:gateway:problem:not-found"
	ProblemGone          = "urn:gateway:problem:gone"
	ProblemNotReady      = "urn:gateway:problem:not-ready"
	ProblemPrecondition  = "urn:gateway:problem:precondition-failed"
	ProblemExists        = "urn:gateway:problem:exists"
	ProblemField         = "urn:gateway:problem:invalid-field"
	ProblemNotAcceptable = "urn:gateway:problem:not-acceptable"
	ProblemRange         = "urn:gateway:problem:range-not-satisfiable"
	ProblemMethod        = "urn:gateway:problem:method-not-allowed"
	ProblemBusy          = "urn:gateway:problem:busy"
	ProblemTooLarge      = "urn:gateway:problem:too-large"
	ProblemUnknown       = "urn:gateway:problem:unknown-resources"
	ProblemInternal      = "urn:gateway:problem:internal"
)

// Problem is an answer that is no document (RFC 9457). A handler that knows more
// than an error of model says gives one to [Fail].
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Field is the field of the input at fault, as a path.
	Field string `json:"field,omitempty"`
	// Alternates is what there would have been (RFC 9110 §15.5.7).
	Alternates []Alternate `json:"alternates,omitempty"`
	// Unknown are the first of Count resources that were asked for and are not
	// there.
	Unknown []string `json:"unknown,omitempty"`
	Count   int      `json:"count,omitempty"`

	contentRange string // with a 416: how long the body is
}

// Alternate is a representation that could be asked for instead.
type Alternate struct {
	Href     string `json:"href"`
	Type     string `json:"type"`
	Hreflang string `json:"hreflang,omitempty"`
}

func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Title + ": " + p.Detail
}

// clientClosed is the status in the log of a request whose client went away. It
// reaches nobody.
const clientClosed = 499

// retryAfter is when to ask again after a 503, in seconds: an epoch becomes
// ready within seconds or minutes.
const retryAfter = 10

// problem is the problem of a type without details.
func problem(kind string) *Problem {
	p := &Problem{Type: kind}
	switch kind {
	case ProblemNotFound:
		p.Status, p.Title = http.StatusNotFound, "There is nothing here"
	case ProblemGone:
		p.Status, p.Title = http.StatusGone, "What was here is gone for good"
	case ProblemNotReady:
		p.Status, p.Title = http.StatusServiceUnavailable, "This cannot be answered right now"
	case ProblemPrecondition:
		p.Status, p.Title = http.StatusPreconditionFailed, "A condition of the request does not hold"
	case ProblemExists:
		p.Status, p.Title = http.StatusConflict, "The name is taken"
	case ProblemField:
		p.Status, p.Title = http.StatusUnprocessableEntity, "A field of the input is wrong"
	case ProblemNotAcceptable:
		p.Status, p.Title = http.StatusNotAcceptable, "Nothing here is acceptable to the request"
	case ProblemRange:
		p.Status, p.Title = http.StatusRequestedRangeNotSatisfiable, "The range lies outside"
	case ProblemMethod:
		p.Status, p.Title = http.StatusMethodNotAllowed, "The method is not allowed here"
	case ProblemBusy:
		p.Status, p.Title = http.StatusServiceUnavailable, "Too much is being sent right now"
	case ProblemTooLarge:
		p.Status, p.Title = http.StatusRequestEntityTooLarge, "The request asks for too much"
	case ProblemUnknown:
		p.Status, p.Title = http.StatusUnprocessableEntity, "Some of the resources are not there"
	default:
		p.Type, p.Status, p.Title = ProblemInternal, http.StatusInternalServerError, "The gateway made a mistake"
	}
	return p
}

// NotAcceptable is the problem of a request for which none of the alternates
// would do.
func NotAcceptable(detail string, alternates []Alternate) *Problem {
	p := problem(ProblemNotAcceptable)
	p.Detail, p.Alternates = detail, alternates
	return p
}

// Busy is the problem of a request that comes while too many like it are being
// answered.
func Busy(detail string) *Problem {
	p := problem(ProblemBusy)
	p.Detail = detail
	return p
}

// TooLarge is the problem of a request that is larger than is taken.
func TooLarge(detail string) *Problem {
	p := problem(ProblemTooLarge)
	p.Detail = detail
	return p
}

// Unknown is the problem of a request for count resources that are not there, of
// which the first are given.
func Unknown(first []string, count int) *Problem {
	p := problem(ProblemUnknown)
	p.Unknown, p.Count = first, count
	return p
}

// Fail answers with the problem that err is and ends the chain of handlers.
// Causes that are none of the client's business go to the log, once, and are a
// plain 500 outside, or a 503 when time ran out. When the body has begun already, the connection is aborted.
func Fail(c *gin.Context, err error) {
	c.Abort()
	ctx := c.Request.Context()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		c.Status(clientClosed)
		return
	}
	p := problemOf(err, c.Request.Method)
	if p.Type == ProblemInternal || errors.Is(err, context.DeadlineExceeded) || c.Writer.Written() {
		around(c).log.LogAttrs(ctx, slog.LevelError, "request failed",
			slog.String("method", c.Request.Method), slog.String("path", c.Request.URL.Path), slog.Any("error", err))
	}
	if c.Writer.Written() {
		panic(http.ErrAbortHandler)
	}
	answer(c, p)
}

func problemOf(err error, method string) *Problem {
	var p *Problem
	var field *model.FieldError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &field):
		p = problem(ProblemField)
		p.Field, p.Detail = field.Field, field.Reason
		if method == http.MethodGet || method == http.MethodHead || method == http.MethodDelete {
			p.Status = http.StatusBadRequest // the field is a parameter of the URL, not part of a content
		}
		return p
	case errors.Is(err, model.ErrNotFound):
		return problem(ProblemNotFound)
	case errors.Is(err, model.ErrGone):
		return problem(ProblemGone)
	case errors.Is(err, model.ErrNotReady), errors.Is(err, context.DeadlineExceeded):
		return problem(ProblemNotReady)
	case errors.Is(err, model.ErrPrecondition):
		return problem(ProblemPrecondition)
	case errors.Is(err, model.ErrExists):
		return problem(ProblemExists)
	}
	return problem(ProblemInternal)
}

// answer sends p. No problem may be kept: what is missing may come within
// milliseconds, and a cache that remembers a 404 beside a newer document makes
// a hole in what a harvester sees.
func answer(c *gin.Context, p *Problem) {
	h := c.Writer.Header()
	withdraw(h)
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{}`) // a struct of texts and numbers always marshals
	}
	body = append(body, '\n')
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	if p.contentRange != "" {
		h.Set("Content-Range", p.contentRange)
	}
	c.Status(p.Status)
	c.Writer.WriteHeaderNow()
	if !bodyless(c.Request) {
		_, _ = c.Writer.Write(body) // a client that went away needs no answer
	}
	c.Abort()
}
