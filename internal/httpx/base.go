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
// with a prefix is taken to have it.
func UnderBase(h http.Handler, basePaths func() []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, base := range basePaths() {
			path, raw, ok := below(r.URL, strings.TrimRight(base, "/"))
			if !ok {
				continue
			}
			inner, u := *r, *r.URL
			u.Path, u.RawPath = path, raw
			inner.URL = &u
			r = &inner
			break
		}
		h.ServeHTTP(w, r)
	})
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
