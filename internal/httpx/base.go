package httpx

import (
	"net/http"
	"net/url"
	"strings"
)

// UnderBase answers with and without the path prefix of the base URL, so that a
// proxy may strip it or not; what has its place at a listener's root
// (/.well-known/…, /robots.txt) is thereby found there too. basePaths is asked
// at each request, because a rebase changes it while the process runs; it is the
// path of the base URL as it stands there, "" or "/repo", and then those of
// former base URLs, whose documents are gone and not unknown. A path that begins
// with a prefix is taken to have it, with the longest one where several fit: a
// store that moved from /repo/v1 to /repo is still asked below /repo/v1.
func UnderBase(h http.Handler, basePaths func() []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found := r.URL
		for _, base := range basePaths() {
			path, raw, ok := below(r.URL, strings.TrimRight(base, "/"))
			if !ok || found != r.URL && len(path) >= len(found.Path) {
				continue
			}
			u := *r.URL
			u.Path, u.RawPath = path, raw
			found = &u
		}
		if found != r.URL {
			inner := *r
			inner.URL = found
			r = &inner
		}
		h.ServeHTTP(w, r)
	})
}

// TakenSegment is the first segment of basePath if documents here begin with the
// same one, or "". No base URL may have such a path: a request whose prefix a
// proxy has taken off could not be told from one that has it still.
func TakenSegment(basePath string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(basePath, "/"), "/")
	if plain, err := url.PathUnescape(first); err == nil {
		first = plain
	}
	switch first {
	case "atom", "rs", "r", "sets", "healthz", "readyz", "robots.txt", "sitemap.xml", ".well-known":
		return first
	}
	return ""
}

// below cuts base off the path of u. An encoded path loses as many segments as
// base has, because the same prefix can be encoded in many ways.
func below(u *url.URL, base string) (path, raw string, ok bool) {
	if base == "" {
		return "", "", false
	}
	plain, err := url.PathUnescape(base)
	if err != nil {
		return "", "", false
	}
	path, ok = strings.CutPrefix(u.Path, plain)
	if !ok || path != "" && path[0] != '/' {
		return "", "", false
	}
	if path == "" {
		return "/", "", true
	}
	if raw = u.RawPath; raw != "" {
		for range strings.Count(base, "/") {
			next := strings.IndexByte(raw[1:], '/')
			if next < 0 {
				return "", "", false
			}
			raw = raw[1+next:]
		}
		if again, err := url.PathUnescape(raw); err != nil || again != path {
			return "", "", false
		}
	}
	return path, raw, true
}
