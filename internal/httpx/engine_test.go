package httpx

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
)

func TestParametersAreDecodedOnce(t *testing.T) {
	e := engine(t, io.Discard)
	GET(e, "/r/:set/:record/:name", func(c *gin.Context) { c.String(http.StatusOK, "%s", c.Param("name")) })
	server := httptest.NewServer(e)
	defer server.Close()
	for sent, want := range map[string]string{
		"plain.xml":     "plain.xml",
		"a%2Fb":         "a/b",
		"a%252Fb":       "a%2Fb",
		"a+b%20c":       "a+b c",
		"a+b%2Fc":       "a+b/c",
		"%E2%82%AC.txt": "€.txt",
		"a;b=c,d":       "a;b=c,d",
		"%3Fq%23f":      "?q#f",
		"a%5Cb":         `a\b`,
		"%C3%28":        "\xc3\x28",
	} {
		t.Run(sent, func(t *testing.T) {
			res, err := http.Get(server.URL + "/r/set/1/" + sent)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if got := content(t, res); got != want || res.StatusCode != http.StatusOK {
				t.Errorf("%d %q, want %q", res.StatusCode, got, want)
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	e := engine(t, io.Discard)
	GET(e, "/atom/:set", func(c *gin.Context) { c.String(http.StatusOK, "feed") })
	for _, row := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/atom/a", 200, ""},
		{"HEAD", "/atom/a", 200, ""},
		{"POST", "/atom/a", 405, "GET, HEAD"},
		{"OPTIONS", "/atom/a", 405, "GET, HEAD"},
		{"GET", "/atom/a/", 404, ""},
		{"GET", "/Atom/a", 404, ""},
		{"GET", "/atom/", 404, ""},
		{"GET", "//atom/a", 404, ""},
		{"GET", "/atom/../atom/a", 404, ""},
		{"PUT", "/nothing", 404, ""},
	} {
		t.Run(row.method+" "+row.path, func(t *testing.T) {
			res := ask(e, row.method, row.path)
			if res.StatusCode != row.status || res.Header.Get("Allow") != row.allow {
				t.Errorf("%d, Allow %q; want %d, %q", res.StatusCode, res.Header.Get("Allow"), row.status, row.allow)
			}
			if row.status >= 400 && (res.Header.Get("Content-Type") != "application/problem+json" || res.Header.Get("Cache-Control") != "no-store") {
				t.Errorf("headers %v", res.Header)
			}
		})
	}
}

func TestRecovery(t *testing.T) {
	var log bytes.Buffer
	e := engine(t, &log)
	GET(e, "/panic", func(c *gin.Context) { panic("the secret of " + c.Request.URL.Path) })
	GET(e, "/late", func(c *gin.Context) {
		_, _ = c.Writer.WriteString("begun")
		panic("late")
	})
	GET(e, "/abort", func(*gin.Context) { panic(http.ErrAbortHandler) })

	t.Run("before the answer", func(t *testing.T) {
		res := ask(e, "GET", "/panic")
		if body := content(t, res); res.StatusCode != 500 || strings.Contains(body, "secret") || !strings.Contains(body, ProblemInternal) {
			t.Errorf("%d %s", res.StatusCode, body)
		}
		if !strings.Contains(log.String(), "the secret of /panic") || !strings.Contains(log.String(), "engine_test.go") {
			t.Errorf("log has no panic or no stack: %s", log.String())
		}
	})
	for _, path := range []string{"/late", "/abort"} {
		t.Run(path+" breaks the connection", func(t *testing.T) {
			server := httptest.NewServer(e)
			defer server.Close()
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			res, err := http.Get(server.URL + path)
			if err == nil {
				_, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
			if err == nil {
				t.Error("the client saw a clean answer")
			}
		})
	}
}

func TestAccessLog(t *testing.T) {
	var out bytes.Buffer
	clock := noon
	now := func() time.Time { clock = clock.Add(time.Millisecond); return clock }
	e := New(slog.New(slog.DiscardHandler), slog.New(slog.NewJSONHandler(&out, nil)), WithClock(now))
	GET(e, "/a/:b", func(c *gin.Context) { c.String(http.StatusOK, "four") })
	GET(e, "/abort", func(*gin.Context) { panic(http.ErrAbortHandler) })

	line := func(method, target string, header ...string) map[string]any {
		t.Helper()
		out.Reset()
		func() {
			defer func() {
				if v := recover(); v != nil && v != http.ErrAbortHandler {
					panic(v)
				}
			}()
			ask(e, method, target, header...)
		}()
		var m map[string]any
		if err := json.Unmarshal(out.Bytes(), &m); err != nil {
			t.Fatalf("not one line: %v: %s", err, out.String())
		}
		return m
	}

	got := line("GET", "/a/b?identifier=urn:x:1", "User-Agent", "harvester/1", "X-Forwarded-For", "1.2.3.4")
	for key, want := range map[string]any{
		"method": "GET", "path": "/a/b", "query": "identifier=urn:x:1", "status": 200.0, "bytes": 4.0, "duration": 1e6,
		"remote": "192.0.2.1", "agent": "harvester/1",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if line("GET", "/abort")["aborted"] != true {
		t.Error("an aborted request looks complete")
	}
	if got := line("GET", "/none"); got["status"] != 404.0 {
		t.Errorf("status %v", got["status"])
	}
	if agent := line("GET", "/a/b", "User-Agent", strings.Repeat("é", 2000))["agent"].(string); len(agent) > loggedBytes+3 {
		t.Errorf("a user agent of %d bytes", len(agent))
	}

	for _, query := range []string{
		"token=hunter2", "access_token=hunter2", "a=1&Password=hunter2", "api%5Fkey=hunter2", "x=1;token=hunter2&API_KEY=hunter2",
		"X-Amz-Signature=hunter2", "hunter2hunter2hunter2", "to%6Ben=hunter2", "%zz=hunter2", "secret[]=hunter2",
	} {
		t.Run(query, func(t *testing.T) {
			line("GET", "/a/b?"+query, "Authorization", "Bearer hunter2", "Cookie", "session=hunter2", "Referer", "http://x/?token=hunter2")
			if strings.Contains(out.String(), "hunter2") {
				t.Errorf("the secret is in the log: %s", out.String())
			}
		})
	}
}

func TestTakenSegment(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "/": "", "/repo": "", "/repo/atom": "", "/rsx/r": "", "/atoms": "",
		"/atom": "atom", "/atom/x": "atom", "/rs": "rs", "/r/x/": "r", "/sets": "sets", "/healthz": "healthz", "/readyz": "readyz",
		"/robots.txt": "robots.txt", "/sitemap.xml": "sitemap.xml", "/.well-known/x": ".well-known", "/%61tom": "atom",
	} {
		if got := TakenSegment(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestUnderBase(t *testing.T) {
	base := ""
	h := UnderBase(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path+" "+r.URL.EscapedPath())
	}), func() []string { return strings.Split(base, ",") })
	for _, row := range []struct{ base, path, want string }{
		{"", "/atom", "/atom /atom"},
		{"/", "/atom", "/atom /atom"},
		{"/repo", "/atom", "/atom /atom"},
		{"/repo", "/repo/atom", "/atom /atom"},
		{"/repo/", "/repo/atom", "/atom /atom"},
		{"/repo", "/repo", "/ /"},
		{"/repo", "/repo/", "/ /"},
		{"/repo", "/repository/atom", "/repository/atom /repository/atom"},
		{"/repo", "/.well-known/resourcesync", "/.well-known/resourcesync /.well-known/resourcesync"},
		{"/repo", "/repo/.well-known/resourcesync", "/.well-known/resourcesync /.well-known/resourcesync"},
		{"/repo", "/repo/r/s/1/a%2Fb", "/r/s/1/a/b /r/s/1/a%2Fb"},
		{"/repo", "/r/s/1/a%2Fb", "/r/s/1/a/b /r/s/1/a%2Fb"},
		{"/a/b", "/a/b/r/s/1/x%2Fy", "/r/s/1/x/y /r/s/1/x%2Fy"},
		{"/a/b", "/a%2Fb/r", "/a/b/r /a%2Fb/r"},
		{"/my%20repo", "/my%20repo/r/x%2Fy", "/r/x/y /r/x%2Fy"},
		{"/my%20repo", "/my%20repo/r", "/r /r"},
		{"/repo", "/%72epo/r/x%2Fy", "/r/x/y /r/x%2Fy"},
		{"/new,/old", "/new/r", "/r /r"},
		{"/new,/old", "/old/r", "/r /r"},
		{",/old", "/old/r", "/r /r"},
		{"/new,/old", "/new/old/r", "/old/r /old/r"},
		{"/repo,/repo/v1", "/repo/v1/r", "/r /r"},
		{"/repo,/repo/v1", "/repo/v1x/r", "/v1x/r /v1x/r"},
		{"/repo/v1,/repo", "/repo/r/x%2Fy", "/r/x/y /r/x%2Fy"},
	} {
		base = row.base
		if got := content(t, ask(h, "GET", row.path)); got != row.want {
			t.Errorf("base %q: %s became %q, want %q", row.base, row.path, got, row.want)
		}
	}
}

func TestClockAndLogOfAContextFromElsewhere(t *testing.T) {
	gin.SetMode(gin.TestMode)
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	if s := around(c); s.log == nil || s.now == nil {
		t.Error("no defaults")
	}
}

func TestHeadersOfADocumentDoNotStayOnAProblem(t *testing.T) {
	doc, shelf := store([]byte("text"), false)
	shelf.failing = errDisk
	var log bytes.Buffer
	e := engine(t, &log)
	GET(e, "/doc", func(c *gin.Context) {
		c.Header("Link", `<x>; rel="y"`)
		ServeStored(c, Stored{Type: "text/plain", Content: doc, Caching: Immutable, Open: shelf.open})
	})
	res := ask(e, "GET", "/doc")
	body := content(t, res)
	if res.StatusCode != 500 || strings.Contains(body, errDisk.Error()) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	for _, name := range []string{"Etag", "Accept-Ranges", "Last-Modified"} {
		if res.Header.Get(name) != "" {
			t.Errorf("%s: %s", name, res.Header.Get(name))
		}
	}
	if res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("Link") == "" {
		t.Errorf("headers %v", res.Header)
	}
	if strings.Count(log.String(), errDisk.Error()) != 1 {
		t.Errorf("the cause is not in the log once: %s", log.String())
	}
}
