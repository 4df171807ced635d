package httpx

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"gateway/model"
)

func TestFail(t *testing.T) {
	for _, row := range []struct {
		err    error
		method string
		status int
		kind   string
		logged bool
	}{
		{model.ErrNotFound, "GET", 404, ProblemNotFound, false},
		{fmt.Errorf("read: %w", model.ErrNotFound), "GET", 404, ProblemNotFound, false},
		{model.ErrGone, "GET", 410, ProblemGone, false},
		{model.ErrNotReady, "GET", 503, ProblemNotReady, false},
		{context.DeadlineExceeded, "GET", 503, ProblemNotReady, true},
		{model.ErrPrecondition, "PUT", 412, ProblemPrecondition, false},
		{model.ErrExists, "POST", 409, ProblemExists, false},
		{&model.FieldError{Field: "a[1].b", Reason: "is empty"}, "GET", 400, ProblemField, false},
		{&model.FieldError{Field: "a[1].b", Reason: "is empty"}, "HEAD", 400, ProblemField, false},
		{&model.FieldError{Field: "a[1].b", Reason: "is empty"}, "POST", 422, ProblemField, false},
		{errDisk, "GET", 500, ProblemInternal, true},
		{context.Canceled, "GET", 500, ProblemInternal, true}, // not by the client
		{model.ErrHeadMoved, "GET", 500, ProblemInternal, true},
		{NotAcceptable("no", nil), "GET", 406, ProblemNotAcceptable, false},
		{problem(ProblemBusy), "GET", 503, ProblemBusy, false},
	} {
		t.Run(fmt.Sprintf("%s %v", row.method, row.err), func(t *testing.T) {
			var log bytes.Buffer
			e := engine(t, &log)
			e.Handle(row.method, "/", func(c *gin.Context) { Fail(c, row.err) }, func(*gin.Context) { t.Error("the chain went on") })
			res := ask(e, row.method, "/")
			body := content(t, res)
			if res.StatusCode != row.status || res.Header.Get("Content-Type") != "application/problem+json" || res.Header.Get("Cache-Control") != "no-store" {
				t.Fatalf("%d %v", res.StatusCode, res.Header)
			}
			if (row.status == 503) != (res.Header.Get("Retry-After") != "") {
				t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
			}
			if row.method == "HEAD" {
				if body != "" || res.Header.Get("Content-Length") == "" {
					t.Errorf("HEAD with %q", body)
				}
				return
			}
			var p Problem
			if err := json.Unmarshal([]byte(body), &p); err != nil {
				t.Fatal(err)
			}
			if p.Type != row.kind || p.Status != row.status || p.Title == "" || res.Header.Get("Content-Length") != strconv.Itoa(len(body)) {
				t.Errorf("%+v", p)
			}
			if row.kind == ProblemField && (p.Field != "a[1].b" || p.Detail != "is empty") {
				t.Errorf("%+v", p)
			}
			if logged := strings.Contains(log.String(), row.err.Error()); logged != row.logged {
				t.Errorf("logged %v", logged)
			}
			if row.logged && strings.Contains(body, row.err.Error()) {
				t.Errorf("the cause is outside: %s", body)
			}
		})
	}
}

func TestFailWhenTheClientIsGone(t *testing.T) {
	var log bytes.Buffer
	e := engine(t, &log)
	GET(e, "/", func(c *gin.Context) { Fail(c, fmt.Errorf("read: %w", c.Request.Context().Err())) })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := httptest.NewRecorder()
	e.ServeHTTP(w, request("GET", "/").WithContext(ctx))
	if w.Body.Len() > 0 || w.Code != clientClosed || log.Len() > 0 {
		t.Errorf("%d %q, log %q", w.Code, w.Body, &log)
	}
}

func TestFailInTheMiddleOfABody(t *testing.T) {
	var log bytes.Buffer
	e := engine(t, &log)
	GET(e, "/", func(c *gin.Context) {
		_, _ = c.Writer.WriteString("<feed>")
		Fail(c, errDisk)
	})
	if err := fetch(t, e, "/"); err == nil {
		t.Error("the client saw a clean body")
	}
	if strings.Count(log.String(), errDisk.Error()) != 1 {
		t.Errorf("log: %s", log.String())
	}
}

// The list in docs/format/problems.md is what the code can answer.
func TestProblemsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/format/problems.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	kind := regexp.MustCompile(`urn:gateway:problem:[a-z-]+`)
	inCode := kind.FindAllString(string(source), -1)
	rows := regexp.MustCompile("(?m)^\\| `(urn:gateway:problem:[a-z-]+)` \\| ([0-9]+)").FindAllStringSubmatch(string(doc), -1)
	var inDoc []string
	for _, row := range rows {
		inDoc = append(inDoc, row[1])
		if p := problem(row[1]); p.Type != row[1] || strconv.Itoa(p.Status) != row[2] {
			t.Errorf("%s is documented as %s, but is %d", row[1], row[2], p.Status)
		}
	}
	slices.Sort(inCode)
	slices.Sort(inDoc)
	if !slices.Equal(inCode, inDoc) {
		t.Errorf("code has %q, the document %q", inCode, inDoc)
	}
}
