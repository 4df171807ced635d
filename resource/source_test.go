package resource_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/flate"
	"go.uber.org/goleak"

	"gateway/internal/httpx"
	"gateway/model"
	"gateway/model/modeltest"
	"gateway/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const base = "https://sync.example/repo"

// archive is a set in memory with its content.
type archive struct {
	*modeltest.Log
	contents map[[32]byte][]byte // kept form, by digest of the identity bytes
	shorter  bool                // contents break midway
}

func newArchive() *archive {
	return &archive{Log: modeltest.New("rivers", base), contents: map[[32]byte][]byte{}}
}

// hosted is a resource with content, deflated as an import would.
func (a *archive) hosted(role model.Role, name, mediaType, text string) model.Resource {
	r := modeltest.Text(role, name, mediaType, text)
	kept := []byte(text)
	if len(text) > 100 {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, flate.DefaultCompression)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
		kept = b.Bytes()
		r.Content.Deflated, r.Content.Stored = true, int64(len(kept))
	}
	a.contents[r.Content.SHA256] = kept
	return r
}

func (a *archive) put(identifier string, resources ...model.Resource) model.RecordNumber {
	return a.Commit(model.Record{Identifier: identifier, State: model.State{Title: identifier, Resources: resources}})[0].Number
}

func (a *archive) remove(identifier string) {
	a.Commit(model.Record{Identifier: identifier, Deleted: true})
}

func (a *archive) View(_ context.Context, set, _ string) (model.View, error) {
	if set != a.Set.Name {
		return model.View{}, model.ErrNotFound
	}
	return a.Now(), nil
}

func (a *archive) newest(match func(*model.Change) bool) (*model.Change, error) {
	for p := a.Head(); p > 0; p-- {
		if c := a.At(p); match(c) {
			return c, nil
		}
	}
	return nil, model.ErrNotFound
}

func (a *archive) Record(_ context.Context, _ model.SetID, number model.RecordNumber) (*model.Change, error) {
	return a.newest(func(c *model.Change) bool { return c.Record == number })
}

func (a *archive) RecordByIdentifier(_ context.Context, _ model.SetID, identifier string) (*model.Change, error) {
	return a.newest(func(c *model.Change) bool { return c.Identifier == identifier })
}

func (a *archive) OpenContent(_ context.Context, _ model.SetID, key model.ContentKey) (model.Kept, error) {
	for p := a.Head(); p > 0; p-- {
		for _, r := range a.At(p).Resources {
			if r.Key == key && !r.External() {
				return kept{bytes.NewReader(a.contents[r.Content.SHA256]), a.shorter}, nil
			}
		}
	}
	return nil, errors.New("no content under this key")
}

type kept struct {
	*bytes.Reader
	broken bool
}

func (k kept) ReadAt(p []byte, at int64) (int, error) {
	if half := k.Size() / 2; k.broken && at+int64(len(p)) > half {
		n, _ := k.Reader.ReadAt(p[:max(half-at, 0)], at)
		return n, errors.New("disk on fire")
	}
	return k.Reader.ReadAt(p, at)
}

func (kept) Close() error { return nil }

// later is when tests ask: every change's second is over.
var later = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func (a *archive) serve() *gin.Engine {
	e := httpx.New(slog.New(slog.DiscardHandler), slog.New(slog.DiscardHandler), httpx.WithClock(func() time.Time { return later }))
	resource.New(a, func(set string) string { return "/rs/" + set + "/capabilitylist.xml" }).Register(e)
	return e
}

func ask(h http.Handler, method, path string, header ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t testing.TB, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
