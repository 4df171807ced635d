package resourcesync_test

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gin-gonic/gin"

	"gateway/internal/httpx"
	"gateway/model"
	"gateway/model/modeltest"
	"gateway/publish"
	"gateway/resourcesync"
	"gateway/sitemap/sitemaptest"
)

const base = "https://repo.example.org/gw"

var (
	_ publish.Renderer         = (*resourcesync.Renderer)(nil)
	_ publish.SnapshotRenderer = (*resourcesync.Renderer)(nil)
	_ resourcesync.Source      = (*world)(nil)
)

// world is a set as of any position and any published segment, with the
// documents that were stored for it.
type world struct {
	t testing.TB
	*modeltest.Log
	limits   model.Limits
	renderer *resourcesync.Renderer
	router   *gin.Engine

	position  model.Position
	published model.SegmentNumber
	snapshot  model.Snapshot
	notReady  bool
	frozen    *model.View // shown instead, where counting it each time costs too much
	documents map[string]*document
	packages  map[string]model.Package
	archives  map[string]*archive                 // fetched and checked
	bodies    map[[32]byte][]byte                 // kept, by the sum of the content
	keys      map[model.ContentKey]*model.Content // of the log's changes up to indexed
	indexed   model.Position
	reads     []int         // how many contents were opened at a time
	gate      chan struct{} // nil, or closed when scans of states may begin
	scans     atomic.Int64  // of states
	found     int           // records looked up
	// tags holds the bytes that each entity tag stood for, by path.
	tags map[string]string
	// parsed and models save doing the same work for each position again: a log
	// only grows, and equal bytes parse alike.
	parsed map[string]*sitemaptest.Document
	models map[model.Position]copyOfSet
}

type document struct {
	bytes.Buffer
	row    model.Document
	kept   []byte
	closed bool
}

func newWorld(t testing.TB, limits model.Limits) *world {
	gin.SetMode(gin.TestMode)
	quiet := slog.New(slog.DiscardHandler)
	w := &world{
		t: t, Log: modeltest.New("rivers", base), limits: limits.WithDefaults(), renderer: resourcesync.NewRenderer(limits),
		router: httpx.New(slog.New(slog.NewTextHandler(t.Output(), nil)), quiet), documents: map[string]*document{}, packages: map[string]model.Package{}, archives: map[string]*archive{},
		bodies: map[[32]byte][]byte{}, keys: map[model.ContentKey]*model.Content{}, tags: map[string]string{},
		parsed: map[string]*sitemaptest.Document{}, models: map[model.Position]copyOfSet{},
	}
	w.Log.Limits = limits
	w.snapshot = w.Log.View(0, 0).Snapshot
	resourcesync.New(w, limits).Register(w.router)
	return w
}

// view is the set as the world shows it now.
func (w *world) view() model.View {
	if w.frozen != nil {
		return *w.frozen
	}
	v := w.Log.View(w.position, w.published)
	v.Snapshot, v.Ready = w.snapshot, !w.notReady
	return v
}

// shown is the position that moving documents go to.
func (w *world) shown() (model.Position, model.Time) {
	v := w.view()
	return v.Shown()
}

// View implements resourcesync.Source.
func (w *world) View(_ context.Context, set, renderer string) (model.View, error) {
	if renderer != "resourcesync-1.1" {
		w.t.Errorf("view of renderer %q", renderer)
	}
	if set != w.Set.Name {
		return model.View{}, model.ErrNotFound
	}
	return w.view(), nil
}

// Document implements resourcesync.Source.
func (w *world) Document(_ context.Context, set model.SetID, path string) (model.Document, error) {
	d := w.documents[path]
	if d == nil || !d.closed || set != w.Set.ID {
		return model.Document{}, fmt.Errorf("document %s: %w", path, model.ErrNotFound)
	}
	return d.row, nil
}

// OpenObject implements resourcesync.Source; the key is the path.
func (w *world) OpenObject(_ context.Context, key string) (model.Kept, error) {
	return kept{bytes.NewReader(w.documents[key].kept)}, nil
}

// Package implements resourcesync.Source.
func (w *world) Package(_ context.Context, set model.SetID, path string) (model.Package, error) {
	p, ok := w.packages[path]
	if !ok || set != w.Set.ID {
		return p, fmt.Errorf("package %s: %w", path, model.ErrNotFound)
	}
	return p, nil
}

// SnapshotPackages implements resourcesync.Source.
func (w *world) SnapshotPackages(_ context.Context, _ model.SetID, epoch model.EpochNumber, n model.SnapshotNumber) (found []model.Package, _ error) {
	for path, p := range w.packages {
		if name, err := resourcesync.ParseResourcePackagePath(path); err == nil && name.Epoch == epoch && p.Snapshot == n {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b model.Package) int { return cmp.Compare(a.First, b.First) })
	return found, nil
}

// SegmentPackages implements resourcesync.Source.
func (w *world) SegmentPackages(_ context.Context, _ model.SetID, epoch model.EpochNumber, after model.SegmentNumber, limit int) (found []model.Package, _ error) {
	for path, p := range w.packages {
		if name, err := resourcesync.ParseChangePackagePath(path); err == nil && name.Epoch == epoch && p.Segment > after {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b model.Package) int { return cmp.Compare(a.Segment, b.Segment) })
	return found[:min(limit, len(found))], nil
}

// Record implements resourcesync.Source. It sees the whole log, as a store does
// that goes on while a view is a moment old.
func (w *world) Record(_ context.Context, _ model.SetID, number model.RecordNumber) (*model.Change, error) {
	w.found++
	for p := w.Head(); p > 0; p-- {
		if c := w.At(p); c.Record == number {
			return c, nil
		}
	}
	return nil, fmt.Errorf("record %d: %w", number, model.ErrNotFound)
}

// States implements model.Log.
func (w *world) States(ctx context.Context, set model.SetID, at model.Position, after model.RecordNumber) iter.Seq2[*model.Change, error] {
	w.scans.Add(1)
	if w.gate != nil {
		select {
		case <-w.gate:
		case <-ctx.Done():
			return func(yield func(*model.Change, error) bool) { yield(nil, ctx.Err()) }
		}
	}
	return w.Log.States(ctx, set, at, after)
}

// OpenContents implements resourcesync.Source.
func (w *world) OpenContents(_ context.Context, _ model.SetID, keys []model.ContentKey) (model.Kept, error) {
	for ; w.indexed < w.Head(); w.indexed++ {
		c := w.At(w.indexed + 1)
		for i := range c.Resources {
			w.keys[c.Resources[i].Key] = &c.Resources[i].Content
		}
	}
	w.reads = append(w.reads, len(keys))
	var joined []byte
	for _, key := range keys {
		content := w.keys[key]
		body, ok := w.bodies[content.SHA256]
		if int64(len(body)) != content.Stored || !ok {
			return nil, fmt.Errorf("content %d: %d bytes kept of %d", key, len(body), content.Stored)
		}
		joined = append(joined, body...)
	}
	return kept{bytes.NewReader(joined)}, nil
}

// text is a resource whose content the world has.
func (w *world) text(role model.Role, name, mediaType, content string) model.Resource {
	r := modeltest.Text(role, name, mediaType, content)
	w.bodies[r.Content.SHA256] = []byte(content)
	return r
}

// deflated is a resource whose content the world keeps deflated.
func (w *world) deflated(role model.Role, name, mediaType, content string) model.Resource {
	r := modeltest.Text(role, name, mediaType, content)
	body := deflate([]byte(content))
	w.bodies[r.Content.SHA256] = body
	r.Content.Deflated, r.Content.Stored = true, int64(len(body))
	return r
}

func deflate(plain []byte) []byte {
	var b bytes.Buffer
	d := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(d)
	d.Reset(&b)
	_, _ = d.Write(plain) // a buffer takes everything
	_ = d.Close()
	return b.Bytes()
}

var deflaters = sync.Pool{New: func() any {
	d, _ := flate.NewWriter(nil, 6) // the level is a valid one
	return d
}}

type kept struct{ *bytes.Reader }

func (kept) Close() error { return nil }

// sink stores documents; a path is written once.
type sink struct{ *world }

func (s sink) Add(p model.Package) {
	if _, twice := s.packages[p.Path]; twice {
		s.t.Fatalf("%s is announced twice", p.Path)
	}
	if d := s.documents[p.Manifest]; d == nil || !d.closed {
		s.t.Errorf("%s is announced before its manifest %s", p.Path, p.Manifest)
	}
	s.packages[p.Path] = p
}

func (s sink) Create(path, mediaType string, lastModified model.Time) (model.DocumentWriter, error) {
	if d := s.documents[path]; d != nil && d.closed {
		s.t.Fatalf("%s is written twice", path)
	}
	d := &document{row: model.Document{Path: path, Type: mediaType, LastModified: lastModified, Object: path}}
	s.documents[path] = d
	return d, nil
}

// Close completes the document. What follows its kept bytes in the object is
// another form of it, which is none of our business here.
func (d *document) Close() error {
	body := deflate(d.Bytes())
	d.row.Content, d.closed = modeltest.ContentOf(d.String()), true
	d.row.Content.Deflated, d.row.Content.Stored = true, int64(len(body))
	d.kept = body
	return nil
}

// Content implements model.DocumentWriter.
func (d *document) Content() model.Content { return d.row.Content }

// show shows the set as of p with everything up to segment n published, and
// seals what is not yet sealed.
func (w *world) show(p model.Position, n model.SegmentNumber) {
	w.position = p
	for _, seg := range w.Cut() {
		path := resourcesync.ChangeList{Set: w.Set.Name, Epoch: w.Epoch.Number, Segment: seg.Number}.Path()
		if d := w.documents[path]; seg.Number > n || d != nil && d.closed {
			continue
		}
		v := w.Log.View(seg.Last, seg.Number-1)
		if err := w.renderer.Seal(context.Background(), w, v, seg, sink{w}); err != nil {
			w.t.Fatal(err)
		}
	}
	w.published = n
}

// showAll shows the head with everything cut published.
func (w *world) showAll() { w.show(w.Head(), model.SegmentNumber(len(w.Cut()))) }

// takeSnapshot publishes the state at p as a new snapshot, cut into parts as a
// publisher does.
func (w *world) takeSnapshot(p model.Position, at model.Time) model.Snapshot {
	v := w.view()
	s := model.Snapshot{Number: w.snapshot.Number + 1, Epoch: w.Epoch.Number, Position: p, At: at}
	var parts [][]*model.Change
	var load model.Load
	for c := range w.States(context.Background(), w.Set.ID, p, 0) {
		next := model.BoundState(c)
		if len(parts) == 0 || load.Plus(next).Exceeds(w.limits) {
			parts, load = append(parts, nil), model.Load{}
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], c)
		for i := range c.Resources {
			if !c.Resources[i].External() {
				s.Resources++
			}
		}
		load = load.Plus(next)
	}
	if len(parts) == 0 {
		parts = [][]*model.Change{nil}
	}
	s.Parts = len(parts)
	for i, records := range parts {
		w.must(w.writePart(v, s, i+1, records))
	}
	if s.Parts > 1 {
		w.must(w.renderer.Index(context.Background(), v, s, sink{w}))
	}
	w.snapshot = s
	return s
}

func (w *world) writePart(v model.View, s model.Snapshot, number int, records []*model.Change) error {
	part, err := w.renderer.Part(v, s, number, s.Parts == 1, sink{w})
	if err != nil {
		return err
	}
	for _, c := range records {
		if err := part.Record(c); err != nil {
			return err
		}
	}
	return part.Close()
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// ask answers a request for a path below the base URL.
func (w *world) ask(method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	w.router.ServeHTTP(answer, r)
	return answer
}

// get is the document at a path. An entity tag that a path had before must stand
// for the same bytes.
func (w *world) get(path string) []byte {
	w.t.Helper()
	answer := w.ask(http.MethodGet, path)
	if answer.Code != http.StatusOK {
		w.t.Fatalf("GET %s: %d\n%s", path, answer.Code, answer.Body)
	}
	if got := answer.Header().Get("Content-Type"); got != "application/xml" {
		w.t.Errorf("GET %s: Content-Type %q", path, got)
	}
	tag := path + " " + answer.Header().Get("ETag")
	if was, ok := w.tags[tag]; ok && was != answer.Body.String() {
		w.t.Errorf("one entity tag for two documents: %s\n%s\n%s", tag, was, answer.Body)
	}
	w.tags[tag] = answer.Body.String()
	return answer.Body.Bytes()
}
