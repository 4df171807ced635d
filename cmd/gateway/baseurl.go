package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"gateway/internal/httpx"
	"gateway/model"
)

const defaultListen = "127.0.0.1:8080"

// parseBaseURL checks and normalises a base URL: absolute, http or https,
// without query, fragment, user or trailing slash, scheme and host in lower
// case. It may have a path.
func parseBaseURL(s string) (string, error) {
	if len(s) > model.MaxBaseURL {
		return "", fmt.Errorf("base URL has %d bytes; at most %d", len(s), model.MaxBaseURL)
	}
	u, err := url.Parse(s)
	if err != nil {
		return "", fmt.Errorf("base URL: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "":
		return "", fmt.Errorf("base URL %q does not begin with http:// or https://", s)
	case u.Hostname() == "":
		return "", fmt.Errorf("base URL %q has no host", s)
	case strings.Trim(strings.ToLower(u.Host), "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") != "":
		return "", fmt.Errorf("base URL %q: in its host only letters, digits and -._ may stand; other scripts as xn--", s)
	case u.User != nil:
		return "", fmt.Errorf("base URL of %q has a user; it is public and can have none", u.Host)
	case strings.ContainsAny(s, "?#"):
		return "", fmt.Errorf("base URL %q has a query or a fragment", s)
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	if taken := httpx.TakenSegment(path); taken != "" {
		return "", fmt.Errorf("base URL %q: its path must not begin with /%s, which is a path of the gateway itself", s, taken)
	}
	for i, segment := range strings.Split(path, "/") {
		if segment == "" && i > 0 || segment == "." || segment == ".." {
			return "", fmt.Errorf("base URL %q has an empty, . or .. segment in its path", s)
		}
		// The base URL is copied into XML, HTML and headers as it is.
		if decoded, err := url.PathUnescape(segment); err != nil || string(model.AppendPathSegment(nil, decoded)) != segment {
			return "", fmt.Errorf("base URL %q: in its path everything but letters, digits and -._~/ must be percent-encoded", s)
		}
	}
	return u.Scheme + "://" + strings.ToLower(u.Host) + path, nil
}

// deriveBaseURL makes a base URL of the address that is listened on: asked is
// the one asked for, whose host is kept, and bound the one that was got, whose
// port is known. A wildcard becomes localhost.
func deriveBaseURL(asked string, bound net.Addr) (string, error) {
	host, _, err := net.SplitHostPort(asked)
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(bound.String())
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	if port == "80" {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return parseBaseURL("http://" + host)
	}
	return parseBaseURL("http://" + net.JoinHostPort(host, port))
}

// baseURLChoice decides between the base URLs that a start knows of: what the
// store has and whether somebody chose it, what the caller was told (explicit),
// and what it would make up itself (derived); "" is none. The result is the one
// to use and whether it counts as chosen.
//
// Nobody relies on a derived URL, so it gives way to an explicit one, and, if
// the caller says so, to another derived one. A chosen one changes only by a
// rebase that somebody asked for.
func baseURLChoice(has string, chosen bool, explicit, derived string, replace bool) (base string, choose bool, err error) {
	switch {
	case explicit != "" && has != "" && chosen && explicit != has:
		return "", false, usagef("the store is published at %s, not at %s; to move it there, run `gateway rebase %s`", has, explicit, explicit)
	case explicit != "":
		return explicit, true, nil
	case has != "" && (chosen || !replace):
		return has, chosen, nil
	}
	return derived, false, nil
}

// settleBaseURL agrees with the store on its base URL, as baseURLChoice says,
// and moves the store there if that is not where it is.
func (o *opened) settleBaseURL(ctx context.Context, explicit, derived string, replace bool) (string, error) {
	if explicit != "" {
		var err error
		if explicit, err = parseBaseURL(explicit); err != nil {
			return "", usageError{err}
		}
	}
	has, chosen, err := o.BaseURLOrigin(ctx)
	if err != nil {
		return "", err
	}
	base, choose, err := baseURLChoice(has, chosen, explicit, derived, replace)
	if err != nil || base == has && choose == chosen {
		return base, err
	}
	return base, o.move(ctx, base, choose)
}

// move changes the store's base URL and moves every set there.
func (o *opened) move(ctx context.Context, base string, chosen bool) error {
	if err := o.SetBaseURL(ctx, base, chosen); err != nil {
		return err
	}
	_, err := o.moveSets(ctx)
	return err
}

// moveSets begins a new epoch for every set that is not published at the store's
// base URL, which are all after it changed, and the rest after a move that was
// interrupted. It returns how many sets there are.
func (o *opened) moveSets(ctx context.Context) (sets int, err error) {
	for v, err := range o.sets(ctx) {
		if err != nil {
			return sets, err
		}
		sets++
		// Read again each time: another process may be moving the store on.
		base, err := o.BaseURL(ctx)
		if err != nil {
			return sets, err
		}
		if v.Epoch.BaseURL == base {
			continue
		}
		if _, err := o.OpenEpoch(ctx, v.Set.ID, "rebase"); err != nil {
			return sets, fmt.Errorf("open a new epoch of set %s: %w", v.Set.Name, err)
		}
	}
	return sets, nil
}
