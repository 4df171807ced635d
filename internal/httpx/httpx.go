// Package httpx answers HTTP requests, so that every handler says only what its
// document is. What holds for each answer made here:
//
//   - It has the Content-Length of what is sent, a strong ETag of its own per
//     content coding, and `Vary: Accept-Encoding`; HEAD is GET without the body;
//     a condition that holds is answered by 304 or 412 before anything is read.
//   - gzip and zstd go out only to those who ask for them. What is kept deflated,
//     or as a zstd frame, is sent as it is, by sendfile if it is a file; identity
//     is always possible. Short sealed bodies that many ask for come from memory.
//   - A body that breaks looks broken. Its last bytes are not sent before the sum
//     of all is right, and after a mistake the connection is aborted, so that no
//     client takes a part for the whole.
//   - How many bodies are sent at a time is bounded, and so is what a client that
//     does not read makes us hold: a buffer, or a document made on request within
//     a budget of all of them. Sealed documents are never refused.
//   - A mistake becomes a problem document (RFC 9457) in one place, [Fail], which
//     keeps inner causes for the log.
//
// [New] makes the engine, [ServeStored], [ServeRendered] and [ServeRanged] serve
// documents and packages, and [NewServer] cuts off clients that stopped reading, not those that read slowly.
package httpx

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// Caching says how long an answer may be kept without asking again.
type Caching int

const (
	// Moving is a document that goes on. It is revalidated at each use: a head
	// that is newer than what follows from it is safe, an old one costs a 304.
	Moving Caching = iota
	// Immutable is a document that never changes under its URL. A stored one
	// has ranges.
	Immutable
	// Resource is a representation or file of a record: revalidated, with
	// ranges.
	Resource
)

// header is the value of Cache-Control (RFC 9111 §5.2.2, RFC 8246).
func (k Caching) header() string {
	switch k {
	case Immutable:
		return "public, max-age=31536000, immutable"
	case Resource:
		return "public, no-cache"
	}
	return "public, max-age=0, must-revalidate"
}

// surroundings is what answers need besides request and document.
type surroundings struct {
	log       *slog.Logger
	now       func() time.Time
	transfers transfers
	hot       hot
}

func newSurroundings(log *slog.Logger) *surroundings {
	return &surroundings{log: log, now: time.Now, transfers: transfers{max: DefaultTransfers, maxHeld: defaultHeld}}
}

// around finds what [New] put into c. A context that comes from elsewhere has
// the defaults.
func around(c *gin.Context) *surroundings {
	if w, ok := c.Writer.(*writer); ok {
		return w.around
	}
	return newSurroundings(slog.Default())
}

// bodyless tells that the method of r gets the headers of GET only.
func bodyless(r *http.Request) bool { return r.Method == http.MethodHead }
