package atompmh_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"

	"gateway/atompmh"
	"gateway/model"
)

func TestCompleteBytes(t *testing.T) {
	w, long := newWorld(t, 1000), strings.Repeat("\"", 64<<10)
	for i := range 100 {
		r := small(fmt.Sprintf("urn:river:%d", i), "<dc/>")
		r.Summary = long // 5 bytes each in XML
		w.Commit(r)
	}
	h := serve(w.now())
	if got := request(h, "GET", "/atom/rivers/complete"); got.Code != 200 {
		t.Errorf("status %d with 33 MB", got.Code)
	}
	for i := range 40 {
		r := small(fmt.Sprintf("urn:lake:%d", i), "<dc/>")
		r.Summary = long
		w.Commit(r)
	}
	h = serve(w.now())
	if got := request(h, "GET", "/atom/rivers/complete"); got.Code != 404 {
		t.Errorf("status %d with 46 MB: %d bytes", got.Code, got.Body.Len())
	}
}

func TestCompleteLimit(t *testing.T) {
	const path = "/atom/rivers/complete"
	linked := func(h http.Handler) bool {
		return strings.Contains(request(h, "GET", "/atom").Body.String(), base+path)
	}
	for _, row := range []struct {
		name           string
		records, limit int
		status         int
	}{
		{"at the limit", 4, 4, 200}, {"above the limit", 5, 4, 404}, {"switched off", 1, 0, 404}, {"switched off without records", 0, 0, 404}, {"without records", 0, 1, 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, 10).fill(row.records).now()
			w.Set.Policy.CompleteLimit = row.limit
			h := serve(w)
			if got := request(h, "GET", path); got.Code != row.status {
				t.Errorf("status %d", got.Code)
			}
			if linked(h) != (row.status == 200) {
				t.Errorf("linked from the service document: %t", linked(h))
			}
			if strings.Contains(request(h, "GET", "/atom/rivers").Body.String(), path) {
				t.Error("ARCH-14 the subscription document links to the complete feed")
			}
		})
	}
	t.Run("above the limit at the head, not where it is shown", func(t *testing.T) {
		w := newWorld(t, 3).fill(4).at(4, 0)
		w.Set.Policy.CompleteLimit = 3
		if got := request(serve(w), "GET", path); got.Code != 200 {
			t.Errorf("status %d with three records shown", got.Code)
		}
	})
	t.Run("above the limit where it is shown, not at the head", func(t *testing.T) {
		w := newWorld(t, 3).fill(3)
		w.Commit(model.Record{Identifier: "urn:river:1", Deleted: true})
		w.Set.Policy.CompleteLimit = 2
		h := serve(w.at(4, 0))
		if got := request(h, "GET", path, "If-None-Match", "*"); got.Code != 404 {
			t.Errorf("status %d with three records shown", got.Code)
		}
		w.at(4, 1)
		if got := request(h, "GET", path); got.Code != 200 {
			t.Errorf("status %d with two records shown", got.Code)
		}
	})
}

// brokenLog is a world whose log breaks after n changes or states: with an
// error, or as if that were all.
type brokenLog struct {
	*world
	n   int
	err error
}

func (l *brokenLog) Changes(ctx context.Context, set model.SetID, after, last model.Position) iter.Seq2[*model.Change, error] {
	return l.cut(l.world.Changes(ctx, set, after, last))
}

func (l *brokenLog) States(ctx context.Context, set model.SetID, at model.Position, after model.RecordNumber) iter.Seq2[*model.Change, error] {
	return l.cut(l.world.States(ctx, set, at, after))
}

func (l *brokenLog) cut(changes iter.Seq2[*model.Change, error]) iter.Seq2[*model.Change, error] {
	return func(yield func(*model.Change, error) bool) {
		n := 0
		for c, err := range changes {
			if n == l.n {
				break
			}
			n++
			if !yield(c, err) {
				return
			}
		}
		if l.err != nil {
			yield(nil, l.err)
		}
	}
}

// TestBrokenLog expects no document rather than one that lacks an entry.
func TestBrokenLog(t *testing.T) {
	for _, err := range []error{errors.New("disk on fire"), nil} {
		l := &brokenLog{published(t), 1, err}
		h := serve(l)
		for _, path := range []string{"/atom/rivers", "/atom/rivers/1/archive/2", "/atom/rivers/complete"} {
			if err == nil && strings.HasSuffix(path, "complete") {
				continue // nothing says how many states there are
			}
			got := request(h, "GET", path)
			if got.Code != 500 || strings.Contains(got.Body.String(), "<feed") || strings.Contains(got.Body.String(), "fire") {
				t.Errorf("%s with %v: status %d\n%s", path, err, got.Code, got.Body)
			}
		}
		v := l.Log.View(7, 1)
		if err := (atompmh.Renderer{}).Seal(context.Background(), l, v, l.Cut()[1], sink{newWorld(t, 1)}); err == nil {
			t.Error("a segment is sealed without all its changes")
		}
	}
}
