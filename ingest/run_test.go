package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gateway/model"
	"gateway/model/modeltest"
)

// Whatever the batches, chunks and workers are, what is committed to each set is
// what a line at a time would have done, in the order of the lines.
func TestOrderIsThatOfTheInput(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sets := rapid.IntRange(1, 4).Draw(rt, "sets")
		n := rapid.IntRange(0, 120).Draw(rt, "lines")
		want := map[string]*modeltest.Log{}
		order := map[string][]string{}
		var counts Result
		var text strings.Builder
		for range n {
			set := fmt.Sprintf("s%d", rapid.IntRange(1, sets).Draw(rt, "set"))
			id := fmt.Sprintf("urn:x:%d", rapid.IntRange(1, 15).Draw(rt, "record"))
			if rapid.IntRange(0, 9).Draw(rt, "bad") == 0 {
				text.WriteString(rapid.SampledFrom([]string{"{}\n", "[\n", "{\"set\":\"" + set + "\"}\n", strings.Repeat("x", 2000) + "\n"}).Draw(rt, "line"))
				counts.Rejected++
				continue
			}
			r := model.Record{Identifier: id, Deleted: rapid.IntRange(0, 4).Draw(rt, "delete") == 0}
			l := fmt.Sprintf(`{"set":%q,"identifier":%q,"deleted":true}`, set, id)
			if !r.Deleted {
				content := strings.Repeat("c", rapid.IntRange(0, 300).Draw(rt, "content"))
				r.Title = rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "title")
				r.Resources = []model.Resource{modeltest.Text(model.Representation, "r", "text/plain", content)}
				l = fmt.Sprintf(`{"identifier":%q,"title":%q,"representations":[{"name":"r","type":"text/plain","content":%q}],"set":%q}`, id, r.Title, content, set)
			}
			text.WriteString(l + rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(rt, "end"))
			if want[set] == nil {
				want[set] = modeltest.New(set, "http://example.org")
			}
			order[set] = append(order[set], id)
			switch want[set].Commit(r)[0].Kind {
			case model.Created:
				counts.Created++
			case model.Updated:
				counts.Updated++
			case model.Deleted:
				counts.Deleted++
			case model.Same:
				counts.Unchanged++
			}
		}

		f := newFake(t)
		im, err := New(f, f, Config{
			SetFrom: "set", MaxLine: 1000, Workers: rapid.IntRange(1, 5).Draw(rt, "workers"),
			BatchRecords: rapid.IntRange(1, 20).Draw(rt, "batch"), BatchBytes: rapid.IntRange(1, 5000).Draw(rt, "bytes"),
		})
		if err != nil {
			rt.Fatal(err)
		}
		im.chunk = rapid.IntRange(1, 3000).Draw(rt, "chunk")
		r, err := im.Run(context.Background(), []Input{Reader("x", strings.NewReader(text.String()))})
		if err != nil || r != counts {
			rt.Fatalf("%+v, %v; want %+v", r, err, counts)
		}
		for set, log := range want {
			if d := cmp.Diff(order[set], f.sets[set].order); d != "" {
				rt.Fatalf("order of %s (-want +got):\n%s", set, d)
			}
			if d := cmp.Diff(changes(log), changes(f.sets[set].Log)); d != "" {
				rt.Fatalf("changes of %s (-want +got):\n%s", set, d)
			}
		}
	})
}

// changes are those of a log without how content is kept.
func changes(l *modeltest.Log) (all []model.Change) {
	for p := model.Position(1); p <= l.Head(); p++ {
		c := *l.At(p)
		c.Resources = slices.Clone(c.Resources)
		for i := range c.Resources {
			c.Resources[i].Content.Deflated, c.Resources[i].Content.Stored = false, 0
		}
		all = append(all, c)
	}
	return all
}

func TestBatches(t *testing.T) {
	t.Run("records", func(t *testing.T) {
		f := newFake(t)
		if r, _, err := f.run(Config{}, lines(0, 2500)); err != nil || r.Created != 2500 {
			t.Fatalf("%+v, %v", r, err)
		}
		if d := cmp.Diff([]int{1000, 1000, 500}, f.sets["s"].batches); d != "" {
			t.Error(d)
		}
	})
	t.Run("a commit for each set of an input grouped by set", func(t *testing.T) {
		var text strings.Builder
		for set := range 300 {
			for i := range 20 {
				text.WriteString(strings.Replace(line(fmt.Sprintf("urn:x:%d", i)), "{", fmt.Sprintf(`{"set":"s%d",`, set), 1) + "\n")
			}
		}
		f := newFake(t)
		if r, _, err := f.run(Config{SetFrom: "set"}, text.String()); err != nil || r.Created != 6000 || f.commits != 300 {
			t.Errorf("%+v, %v, %d commits", r, err, f.commits)
		}
	})
	t.Run("sets from collections", func(t *testing.T) {
		f := newFake(t)
		r, findings, err := f.run(Config{SetFrom: "collections"},
			strings.Replace(line("urn:x:1"), "{", `{"collections":["a","b"],`, 1)+"\n"+
				`{"identifier":"urn:x:1","collections":["a"],"deleted":true}`+"\n"+line("urn:x:2")+"\n"+strings.Replace(line("urn:x:3"), "{", `{"collections":["A b"],`, 1))
		if want := (Result{Created: 1, Deleted: 1, Rejected: 2}); err != nil || r != want {
			t.Errorf("%+v, %v; want %+v", r, err, want)
		}
		if d := cmp.Diff([]string{"a:3: collections: is missing; it names the set", "a:4: collections: A b is not a set's name; want 1 to 64 of a-z 0-9 - _"}, findings); d != "" {
			t.Error(d)
		}
	})
}

func TestCommitFails(t *testing.T) {
	f := newFake(t)
	f.before = func(n int) error {
		if n == 3 {
			return errBroken
		}
		return nil
	}
	r, _, err := f.run(Config{BatchRecords: 10}, lines(0, 1000))
	if !errors.Is(err, errBroken) || err.Error() != "commit to set s: the database is down" || r.Created != 20 {
		t.Errorf("%+v, %v", r, err)
	}
}

// endless yields records until ctx is done, and then blocks until it is closed.
type endless struct {
	n      int
	rest   string
	closed chan struct{}
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n > 5000 {
		<-e.closed
		return 0, io.EOF
	}
	if e.rest == "" {
		e.n++
		e.rest = line(fmt.Sprintf("urn:x:%d", e.n)) + "\n"
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestCancelEndsAfterTheRunningCommit(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := &endless{closed: make(chan struct{})}
	defer close(in.closed)
	f := newFake(t)
	f.before = func(n int) error {
		if n == 4 {
			cancel()
		}
		return nil
	}
	r, _, err := f.runInputs(ctx, Config{BatchRecords: 100}, []Input{Reader("x", in)})
	if !errors.Is(err, context.Canceled) || r.Created != 400 || f.sets["s"].Head() != 400 {
		t.Errorf("%+v, %v, head %d", r, err, f.sets["s"].Head())
	}
}

func TestHookEndsTheImport(t *testing.T) {
	f := newFake(t)
	var heads []model.Position
	c := Config{BatchRecords: 10, Committed: func(_ context.Context, set model.Set, c Committed) error {
		heads = append(heads, c.Head)
		if set.Name != "s" || len(heads) == 2 {
			return errBroken
		}
		return nil
	}}
	r, _, err := f.run(c, lines(0, 1000))
	if !errors.Is(err, errBroken) || r.Created != 20 || !slices.Equal(heads, []model.Position{10, 20}) {
		t.Errorf("%+v, %v, %v", r, err, heads)
	}
}
