package httpx

import (
	"net/http"
	"strings"
	"time"
)

// validators tell two versions of a representation apart (RFC 9110 §8.8).
type validators struct {
	etag     string    // strong, with its quotes
	modified time.Time // whole seconds; zero: none
	// moving: modified is told and decides nothing. It is a time of the log, and
	// two versions of a moving document can have the same one: a second may hold
	// several changes, and what was logged is shown later than it was logged.
	moving bool
}

// condition evaluates the preconditions of r in their order (RFC 9110 §13.2.2).
// It returns 304, 412, or 0 when the request goes on. If-Modified-Since of a
// moving document is ignored, as RFC 9110 §13.1.3 allows.
func condition(r *http.Request, v validators) int {
	if matches := r.Header["If-Match"]; len(matches) > 0 {
		if !matchesTag(matches, v.etag, strong) {
			return http.StatusPreconditionFailed
		}
	} else if t, ok := date(r.Header, "If-Unmodified-Since"); ok && !v.modified.IsZero() && v.modified.After(t) {
		return http.StatusPreconditionFailed
	}
	if none := r.Header["If-None-Match"]; len(none) > 0 {
		if matchesTag(none, v.etag, weak) {
			return http.StatusNotModified
		}
	} else if t, ok := date(r.Header, "If-Modified-Since"); ok && !v.moving && !v.modified.IsZero() && !v.modified.After(t) {
		return http.StatusNotModified
	}
	return 0
}

// sameRange tells whether a range goes on with what the client has (RFC 9110
// §13.1.5). A date must be the very Last-Modified.
func sameRange(r *http.Request, v validators) bool {
	given := strings.Trim(r.Header.Get("If-Range"), " \t")
	switch {
	case given == "":
		return true
	case strings.HasSuffix(given, `"`):
		return given == v.etag
	}
	t, err := http.ParseTime(given)
	return err == nil && !v.moving && !v.modified.IsZero() && t.Equal(v.modified)
}

// comparison of entity tags (RFC 9110 §8.8.3.2).
type comparison bool

const (
	strong comparison = false
	weak   comparison = true
)

func matchesTag(lines []string, etag string, how comparison) bool {
	for item := range Items(lines) {
		if item == "*" || item == etag || how == weak && strings.TrimPrefix(item, "W/") == etag {
			return true
		}
	}
	return false
}

func date(h http.Header, name string) (time.Time, bool) {
	value := h.Get(name)
	if value == "" {
		return time.Time{}, false
	}
	t, err := http.ParseTime(value)
	return t, err == nil
}

// lastModified is the Last-Modified of a document changed at t, or zero when it
// must have none: never later than Date (RFC 9110 §8.8.2.1), and, of what can
// change again, not before the second is over, because two versions of one
// second would have the same.
func lastModified(t, now time.Time, caching Caching) time.Time {
	if t.UnixMicro() <= 0 {
		return time.Time{}
	}
	second := t.Truncate(time.Second)
	if second.After(now) || caching != Immutable && now.Before(second.Add(time.Second)) {
		return time.Time{}
	}
	return second.UTC()
}
