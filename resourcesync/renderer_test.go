package resourcesync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gateway/model"
	"gateway/model/modeltest"
	"gateway/resourcesync"
)

// wide is a record with many resources and texts that grow when escaped.
func wide(resources int, seed string) *model.Change {
	c := &model.Change{Position: 1, Time: modeltest.Start + 1, Record: 1<<62 + 1, Kind: model.Created}
	for i := range resources {
		role := model.Representation
		if i > 1 {
			role = model.File
		}
		r := modeltest.Text(role, strings.Repeat("é", 120)+fmt.Sprint(i), `text/x; a="`+seed+`"`, seed)
		r.Profile = "https://example.org/" + strings.Repeat("&", len(seed))
		r.Kind, r.Time = model.Created, c.Time
		c.Resources = append(c.Resources, r)
	}
	return c
}

// TestBound: no list needs more bytes for a change or a record than the bound by
// which segments and parts are cut.
func TestBound(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := wide(rapid.IntRange(1, 40).Draw(r, "resources"), rapid.StringMatching(`[&<a-z"]{0,40}`).Draw(r, "seed"))
		for i := range c.Resources {
			x := &c.Resources[i]
			x.Kind = rapid.SampledFrom([]model.Kind{model.Same, model.Created, model.Updated}).Draw(r, "kind")
			if i > 0 && rapid.IntRange(0, 5).Draw(r, "external") == 0 {
				x.Href, x.Content = "https://elsewhere.example/?a&b", model.Content{Length: -1}
			}
			if rapid.IntRange(0, 5).Draw(r, "dropped") == 0 {
				c.Dropped = append(c.Dropped, model.Dropped{Name: x.Name + "-"})
			}
		}
		log := fixed{c}
		v := model.View{Set: model.Set{ID: 1, Name: strings.Repeat("s", 64), Policy: model.DefaultPolicy()}}
		v.Epoch = model.Epoch{Number: 1, BaseURL: "https://" + strings.Repeat("b", model.MaxBaseURL-8)}
		seg := model.Segment{Number: 1, First: 1, Last: 1, From: modeltest.Start, Until: modeltest.Start + 2}

		var out, frame counter
		renderer := resourcesync.NewRenderer(model.Limits{})
		if err := renderer.Seal(context.Background(), log, v, seg, &out); err != nil {
			r.Fatal(err)
		}
		if err := renderer.Seal(context.Background(), fixed{}, v, seg, &frame); err != nil {
			r.Fatal(err)
		}
		if got, bound := out.n-frame.n, model.Bound(c); got > bound.Bytes {
			r.Errorf("change list: %d bytes, bound %d", got, bound.Bytes)
		}
		// 50,000 entries of 40 MiB with their paths stay below 50 MB.
		const path = 160
		if got, bound := out.manifest.n-frame.manifest.n, model.Bound(c); got > bound.Bytes+bound.Entries*path {
			r.Errorf("manifest: %d bytes, bound %d", got, bound.Bytes+bound.Entries*path)
		}
		out, frame = counter{}, counter{}
		for sink, records := range map[*counter][]*model.Change{&out: {c}, &frame: nil} {
			part, err := renderer.Part(v, model.Snapshot{Number: 1, Parts: 2}, 1, false, sink)
			if err != nil {
				r.Fatal(err)
			}
			for _, c := range records {
				if err := part.Record(c); err != nil {
					r.Fatal(err)
				}
			}
			if err := part.Close(); err != nil {
				r.Fatal(err)
			}
		}
		if got, bound := out.n-frame.n, model.BoundState(c); got > bound.Bytes {
			r.Errorf("resource list: %d bytes, bound %d", got, bound.Bytes)
		}
	})
}

// fixed is a log of the given changes.
type fixed []*model.Change

func (f fixed) Changes(context.Context, model.SetID, model.Position, model.Position) iter.Seq2[*model.Change, error] {
	return func(yield func(*model.Change, error) bool) {
		for _, c := range f {
			if c == nil {
				yield(nil, errBroken)
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (f fixed) States(ctx context.Context, set model.SetID, _ model.Position, _ model.RecordNumber) iter.Seq2[*model.Change, error] {
	return f.Changes(ctx, set, 0, 0)
}

func (f fixed) Segments(context.Context, model.SetID, model.SegmentNumber, int) ([]model.Segment, error) {
	return nil, errBroken
}

var errBroken = errors.New("broken")

// counter is a sink that counts the bytes of a document and the largest piece.
type counter struct {
	n, largest int
	failAfter  int // fails a write that begins after so many bytes; 0 never
	closed     bool
	manifest   *counter // the newest
}

func (*counter) Add(model.Package) {}

func (c *counter) Create(path, _ string, _ model.Time) (model.DocumentWriter, error) {
	if strings.HasSuffix(path, "-manifest.xml") {
		c.manifest = &counter{failAfter: c.failAfter}
		return c.manifest, nil
	}
	return c, nil
}

func (*counter) Content() model.Content { return model.Content{} }

func (c *counter) Write(b []byte) (int, error) {
	if c.failAfter > 0 && c.n > c.failAfter {
		return 0, errBroken
	}
	c.n += len(b)
	c.largest = max(c.largest, len(b))
	return len(b), nil
}

func (c *counter) Close() error { c.closed = true; return nil }

// What fails midway leaves a document that was not closed, so it does not exist.
func TestFailures(t *testing.T) {
	c := wide(20, "x")
	long := fixed(slices.Repeat([]*model.Change{c}, 200))
	v := model.View{Set: model.Set{ID: 1, Name: "rivers"}, Epoch: model.Epoch{Number: 1, BaseURL: base}}
	seg := model.Segment{Number: 3, First: 1, Last: 200, From: 1, Until: 2}
	renderer := resourcesync.NewRenderer(model.Limits{Entries: 10})

	t.Run("the log breaks", func(t *testing.T) {
		var out counter
		err := renderer.Seal(t.Context(), append(slices.Clone(long), nil), v, seg, &out)
		if !errors.Is(err, errBroken) || out.closed || !strings.Contains(err.Error(), "changelist/3.xml") {
			t.Errorf("%v, closed %v", err, out.closed)
		}
	})
	t.Run("the disk is full", func(t *testing.T) {
		out := counter{failAfter: 100_000}
		if err := renderer.Seal(t.Context(), long, v, seg, &out); !errors.Is(err, errBroken) || out.closed {
			t.Errorf("%v, closed %v", err, out.closed)
		}
	})
	t.Run("RS-DOC-07 more parts than an index names", func(t *testing.T) {
		var out counter
		if err := renderer.Index(t.Context(), v, model.Snapshot{Number: 1, Parts: 11}, &out); err == nil || out.n > 0 {
			t.Errorf("%v, %d bytes", err, out.n)
		}
	})
	t.Run("memory does not grow with the document", func(t *testing.T) {
		var out counter
		if err := renderer.Seal(t.Context(), long, v, seg, &out); err != nil {
			t.Fatal(err)
		}
		if record := out.n / len(long); out.n < 1<<20 || out.largest > 64<<10+2*record {
			t.Errorf("a piece of %d bytes, in all %d, %d each", out.largest, out.n, record)
		}
	})
}

// BenchmarkPart renders a Resource List of 50,000 resources, two a record, into
// nothing.
func BenchmarkPart(b *testing.B) {
	b.Run("list", func(b *testing.B) { benchmarkPart(b) })
	b.Run("list and package", func(b *testing.B) { benchmarkPart(b, model.CapabilityResourceDump) })
}

func benchmarkPart(b *testing.B, capabilities ...string) {
	const records = 25_000
	changes := make([]*model.Change, records)
	for i := range changes {
		dc := modeltest.Text(model.Representation, "oai_dc.xml", "application/xml", fmt.Sprint(i))
		dc.Profile = "http://www.openarchives.org/OAI/2.0/oai_dc/"
		pdf := modeltest.Text(model.File, "thesis.pdf", "application/pdf", fmt.Sprint(-i))
		dc.Time, pdf.Time = modeltest.Start+model.Time(i), modeltest.Start+model.Time(i)
		changes[i] = &model.Change{Record: model.RecordNumber(i + 1), Kind: model.Created, State: model.State{Resources: []model.Resource{dc, pdf}}}
	}
	v := model.View{Set: model.Set{Name: "theses"}, Epoch: model.Epoch{Number: 1, BaseURL: base}}
	v.Set.Policy.Capabilities, v.Set.Policy.PackageSize = capabilities, 1<<40
	s := model.Snapshot{Number: 1, Epoch: 1, At: modeltest.Start, Parts: 20}
	renderer := resourcesync.NewRenderer(model.Limits{})
	var out counter
	b.ReportAllocs()
	for b.Loop() {
		out = counter{}
		part, err := renderer.Part(v, s, 1, false, &out)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range changes {
			if err := part.Record(c); err != nil {
				b.Fatal(err)
			}
		}
		if err := part.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(out.n))
	b.ReportMetric(2*records*float64(b.N)/b.Elapsed().Seconds(), "resources/s")
}

// BenchmarkOpenList renders an open Change List of 1,000 changes over HTTP.
func BenchmarkOpenList(b *testing.B) {
	w := newWorld(b, model.Limits{})
	w.Set.Policy.SegmentSize = 25_000
	for i := range 1000 {
		w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), State: model.State{Resources: []model.Resource{
			modeltest.Text(model.Representation, "dc.xml", "application/xml", fmt.Sprint(i)),
			modeltest.Text(model.File, "a.pdf", "application/pdf", fmt.Sprint(i)),
		}}})
	}
	w.showAll()
	w.frozen = new(w.view())
	path := resourcesync.ChangeList{Set: "rivers", Epoch: 1, Segment: 1}.Path()
	b.ReportAllocs()
	for b.Loop() {
		if answer := w.ask("GET", path); answer.Code != 200 || bytes.Count(answer.Body.Bytes(), []byte("<url>")) != 2000 {
			b.Fatal(answer.Code)
		}
	}
}
