package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	gocmp "github.com/google/go-cmp/cmp"

	"gateway/internal/fold"
	"gateway/model"
	"gateway/model/modeltest"
	"gateway/publish"
	"gateway/store"
)

// A random history is written by two processes at once while a third publishes
// and serves. Whatever the interleaving, every protocol must tell the same state
// as the log, at every position.

const (
	writerCommand = "history-writer"
	writerEnv     = "HISTORY_WRITER" // what a writing process shall do
	historySet    = "rivers"
	segmentSize   = 7
)

// writerConfig is what a writing process is told.
type writerConfig struct {
	Data, Database string
	Seed           uint64
	Events         int
}

// written is what a writing process acknowledges, a line each.
type written struct {
	Record   model.Record
	Position model.Position
	Kind     model.Kind
}

// runWriter is the main function of a writing process.
func runWriter() {
	if err := writeHistory(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writeHistory() error {
	var w writerConfig
	if err := json.Unmarshal([]byte(os.Getenv(writerEnv)), &w); err != nil {
		return err
	}
	ctx := context.Background()
	st, err := openTestStore(ctx, w.Data, w.Database)
	if err != nil {
		return err
	}
	defer st.Close()
	set, err := st.Set(ctx, historySet)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(w.Seed, 7))
	out := json.NewEncoder(os.Stdout)
	for events := 0; events < w.Events; {
		if random.IntN(12) == 0 {
			if _, err := st.Seal(ctx, set.ID); err != nil {
				return err
			}
		}
		batch := make([]model.Incoming, 1+random.IntN(5))
		for i := range batch {
			batch[i] = randomRecord(random)
		}
		done, err := st.Commit(ctx, set.ID, batch, store.CommitOptions{})
		if err != nil {
			return err
		}
		for i, o := range done.Outcomes {
			if o.Err != nil {
				return o.Err
			}
			if o.Kind == model.Same {
				continue
			}
			events++
			if err := out.Encode(written{batch[i].Record, o.Position, o.Kind}); err != nil {
				return err
			}
		}
		time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
	}
	return nil
}

// randomRecord draws a state of one of 25 records: creations, updates of one
// resource, additions and removals, changes of the title alone, external files,
// deletions.
func randomRecord(random *rand.Rand) model.Incoming {
	n := random.IntN(25)
	in := model.Incoming{Record: model.Record{Identifier: fmt.Sprintf("urn:example:%d", n)}}
	if random.IntN(6) == 0 {
		in.Record.Deleted = true
		return in
	}
	in.Record.Title = fmt.Sprintf("Record %d & friends, version %d", n, random.IntN(3))
	add := func(role model.Role, name, mediaType string) {
		text := strings.Repeat(fmt.Sprintf("%s of %d, content %d. ", name, n, random.IntN(3)), 1+random.IntN(30))
		r, body := keptText(role, name, mediaType, text, random.IntN(2) == 0)
		in.Record.Resources = append(in.Record.Resources, r)
		in.Bodies = append(in.Bodies, body)
	}
	add(model.Representation, "record.xml", "application/xml")
	if random.IntN(2) == 0 {
		add(model.Representation, "record.json", "application/json")
	}
	if random.IntN(3) == 0 {
		add(model.File, "größe 100%.txt", "text/plain")
	}
	if random.IntN(5) == 0 {
		in.Record.Resources = append(in.Record.Resources, model.Resource{
			Role: model.File, Name: "far.pdf", Type: "application/pdf", Href: "https://example.net/far.pdf", Content: model.Content{Length: -1},
		})
		in.Bodies = append(in.Bodies, model.Body{})
	}
	return in
}

func keptText(role model.Role, name, mediaType, text string, deflated bool) (model.Resource, model.Body) {
	r := modeltest.Text(role, name, mediaType, text)
	if !deflated {
		return r, model.Body{Bytes: []byte(text)}
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, 6)
	if err != nil {
		panic(err)
	}
	io.WriteString(w, text)
	w.Close()
	r.Content.Deflated, r.Content.Stored = true, int64(b.Len())
	return r, model.Body{Bytes: b.Bytes()}
}

func openTestStore(ctx context.Context, data, database string) (*opened, error) {
	flags := storeFlags{Data: data, Database: database}
	return flags.open(&call{ctx: ctx, log: slog.New(slog.DiscardHandler)}, true)
}

func TestRandomHistory(t *testing.T) {
	for _, name := range []string{"SQLite", "MariaDB"} {
		t.Run(name, func(t *testing.T) {
			database := ""
			if name == "MariaDB" {
				database = testDatabase(t)
			}
			h := newHistory(t, t.TempDir(), database)
			for phase := range 4 {
				h.write(uint64(phase), 45)
				h.compareOverHTTP(h.base)
			}
			h.compareEveryPosition()
			h.rebase("http://moved.example.org/gateway")
			h.write(99, 20)
			h.compareOverHTTP(h.base)
			h.compareEveryPosition()
		})
	}
}

// history is a store that is written to, its model, and a server over it.
type history struct {
	t              *testing.T
	data, database string
	st             *opened
	set            model.Set
	model          *modeltest.Log
	base           string
	witness        *fold.Witness
	acknowledged   []written
	numbers        map[string]model.RecordNumber
}

func newHistory(t *testing.T, data, database string) *history {
	ctx := t.Context()
	st, err := openTestStore(ctx, data, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	h := &history{t: t, data: data, database: database, st: st, base: "http://sync.example.org/path", numbers: map[string]model.RecordNumber{}}
	if err := st.SetBaseURL(ctx, h.base, true); err != nil {
		t.Fatal(err)
	}
	set := model.Set{Name: historySet, Title: "Rivers", Policy: model.DefaultPolicy()}
	set.Policy.SegmentSize, set.Policy.SnapshotChanges, set.Policy.SnapshotInterval = segmentSize, 20, 0
	if h.set, err = st.CreateSet(ctx, set); err != nil {
		t.Fatal(err)
	}
	h.model = modeltest.New(historySet, h.base)
	h.witness = fold.NewWitness(clientOf(handlerOf(st)))
	return h
}

func handlerOf(s site) http.Handler {
	quiet := slog.New(slog.DiscardHandler)
	return publicHandler(s, quiet, quiet)
}

// clientOf is a client whose every request goes to the handler, whatever its
// host.
func clientOf(handler http.Handler) *http.Client {
	return &http.Client{Transport: transport{handler}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

type transport struct{ handler http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	in := httptest.NewRequest(r.Method, r.URL.String(), r.Body)
	in.Header = r.Header.Clone()
	t.handler.ServeHTTP(w, in.WithContext(r.Context()))
	res := w.Result()
	res.Request = r
	return res, nil
}

// write has two processes write n changes each while this one publishes, and a
// stranger reads.
func (h *history) write(seed uint64, n int) {
	h.t.Helper()
	ctx, stop := context.WithCancel(h.t.Context())
	var beside sync.WaitGroup
	beside.Go(func() { _ = h.st.publisher.Run(ctx) })
	beside.Go(func() { h.readMeanwhile(ctx) })
	var mu sync.Mutex
	var writers sync.WaitGroup
	for i := range uint64(2) {
		writers.Go(func() {
			lines, err := h.runWriterProcess(writerConfig{h.data, h.database, seed*10 + i, n})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				h.t.Error(err)
			}
			h.acknowledged = append(h.acknowledged, lines...)
		})
	}
	writers.Wait()
	stop()
	beside.Wait()
	if err := h.st.publisher.Publish(h.t.Context(), h.set.ID, publish.Due); err != nil {
		h.t.Fatal(err)
	}
	h.replay()
}

func (h *history) runWriterProcess(c writerConfig) ([]written, error) {
	config, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(h.t.Context(), exe)
	cmd.Args = []string{writerCommand} // by which TestMain knows it
	cmd.Env = append(os.Environ(), writerEnv+"="+string(config))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("writer: %w: %s", err, stderr.String())
	}
	var lines []written
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		var w written
		if err := json.Unmarshal(s.Bytes(), &w); err != nil {
			return nil, err
		}
		lines = append(lines, w)
	}
	return lines, nil
}

// readMeanwhile walks everything again and again. Each walk must find valid
// documents, though not the same state.
func (h *history) readMeanwhile(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := h.witness.Atom(h.base + "/atom/" + historySet); err != nil {
			h.t.Errorf("during writes: %v", err)
			return
		}
		if _, err := h.witness.ChangeList(h.capabilityList(h.base)); err != nil {
			h.t.Errorf("during writes: %v", err)
			return
		}
		if _, _, err := h.witness.ResourceDump(h.capabilityList(h.base)); err != nil {
			h.t.Errorf("during writes: %v", err)
			return
		}
		if _, _, err := h.witness.ChangeDump(h.capabilityList(h.base)); err != nil {
			h.t.Errorf("during writes: %v", err)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (h *history) capabilityList(base string) string {
	return base + "/rs/" + historySet + "/capabilitylist.xml"
}

// replay brings the model to where the acknowledged changes lead: each position
// was acknowledged once, and nothing else is in the log.
func (h *history) replay() {
	h.t.Helper()
	slices.SortFunc(h.acknowledged, func(a, b written) int { return cmp.Compare(a.Position, b.Position) })
	h.model = modeltest.New(historySet, h.base)
	h.model.Set.Policy.SegmentSize = 1 << 30 // where to cut is the store's to say
	for i, a := range h.acknowledged {
		if a.Position != model.Position(i+1) {
			h.t.Fatalf("%d changes were acknowledged, the %d. at position %d", len(h.acknowledged), i+1, a.Position)
		}
		if o := h.model.Commit(a.Record)[0]; o.Position != a.Position || o.Kind != a.Kind {
			h.t.Fatalf("position %d is acknowledged as %v, the model has %v at %d", a.Position, a.Kind, o.Kind, o.Position)
		}
	}
	v, err := h.st.View(h.t.Context(), historySet, "")
	if err != nil {
		h.t.Fatal(err)
	}
	if v.Head.Position != h.model.Head() {
		h.t.Fatalf("the log has %d changes, %d were acknowledged", v.Head.Position, h.model.Head())
	}
}

// expected is the state at p, as the two families of documents tell it.
func (h *history) expected(base string, p model.Position) (map[string]fold.Record, map[string]fold.Resource) {
	records, resources := map[string]fold.Record{}, map[string]fold.Resource{}
	for c := range h.model.States(h.t.Context(), h.set.ID, p, 0) {
		r := fold.Record{Title: c.Title, Alternates: map[string]string{}, Enclosures: map[string]string{}, Related: map[string]string{}}
		for i := range c.Resources {
			x := &c.Resources[i]
			uri := x.Href
			if !x.External() {
				uri = string(model.AppendResourceURI(nil, base, historySet, h.number(c.Identifier), x.Name))
				resources[uri] = fold.Resource{Type: model.BaseType(x.Type), Length: x.Content.Length, SHA256: fmt.Sprintf("%x", x.Content.SHA256)}
			}
			switch {
			case x.Role == model.File:
				r.Enclosures[uri] = x.MediaType()
			case x.External():
				r.Related[uri] = x.MediaType()
			default:
				r.Alternates[uri] = x.MediaType()
			}
		}
		records[c.Identifier] = r
	}
	return records, resources
}

func (h *history) number(identifier string) model.RecordNumber {
	if n, ok := h.numbers[identifier]; ok {
		return n
	}
	c, err := h.st.RecordByIdentifier(h.t.Context(), h.set.ID, identifier)
	if err != nil {
		h.t.Fatal(err)
	}
	h.numbers[identifier] = c.Record // for good
	return c.Record
}

// compareOverHTTP folds what the server at base gives now and compares it with
// the model's head.
func (h *history) compareOverHTTP(base string) {
	h.t.Helper()
	h.compare(h.witness, base, h.model.Head(), true)
	if err := h.witness.Recheck(mediaTypeOf); err != nil {
		h.t.Error(err)
	}
}

func mediaTypeOf(url string) string {
	switch {
	case strings.Contains(url, "/atom/"):
		return "application/atom+xml"
	case strings.HasSuffix(url, ".zip"):
		return "application/zip"
	}
	return "application/xml"
}

func (h *history) compare(w *fold.Witness, base string, p model.Position, lists bool) {
	h.t.Helper()
	wantRecords, wantResources := h.expected(base, p)
	check := func(what string, want, got any, err error) {
		h.t.Helper()
		if err != nil {
			h.t.Fatalf("at position %d: %s: %v", p, what, err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			h.t.Fatalf("at position %d: %s differs from the model (-model +%s):\n%s", p, what, what, diff)
		}
	}
	records, err := w.Atom(base + "/atom/" + historySet)
	for id, r := range records {
		r.Updated = "" // the model has its own clock
		records[id] = r
	}
	check("Atom chain", wantRecords, records, err)
	changes, err := w.ChangeList(h.capabilityList(base))
	fromChanges := map[string]fold.Resource{}
	err = cmp.Or(err, fold.Apply(fromChanges, changes, ""))
	check("change lists", wantResources, fromChanges, err)
	dumped, until, err := w.ChangeDump(h.capabilityList(base))
	fromDumps := map[string]fold.Resource{}
	err = cmp.Or(err, fold.Apply(fromDumps, dumped, ""), fold.Apply(fromDumps, changes, until))
	if until == "" { // there is no package yet
		fromDumps = fromChanges
	}
	check("change dumps and the open change list", wantResources, fromDumps, err)
	if lists {
		fromDump, at, err := w.ResourceDump(h.capabilityList(base))
		if err == nil {
			err = cmp.Or(fold.Apply(fromDump, dumped, at), fold.Apply(fromDump, changes, max(at, until)))
		}
		check("resource dump and later changes", wantResources, fromDump, err)
		fromLists, at, err := w.ResourceList(h.capabilityList(base))
		if err == nil {
			err = fold.Apply(fromLists, changes, at)
		}
		check("resource list and later changes", wantResources, fromLists, err)
		complete, err := w.Complete(base + "/atom/" + historySet + "/complete")
		for id, r := range complete {
			r.Updated = ""
			complete[id] = r
		}
		check("complete feed", wantRecords, complete, err)
	}
}

// compareEveryPosition renders everything as of each position, with as much
// published as was cut there and with one segment less.
func (h *history) compareEveryPosition() {
	h.t.Helper()
	v, err := h.st.View(h.t.Context(), historySet, "")
	if err != nil {
		h.t.Fatal(err)
	}
	segments, err := h.st.Segments(h.t.Context(), h.set.ID, 0, int(v.Head.Segments))
	if err != nil {
		h.t.Fatal(err)
	}
	at := &asOf{opened: h.st, segments: segments}
	client := clientOf(handlerOf(at))
	current, behind := fold.NewWitness(client), fold.NewWitness(client)
	current.Cache, behind.Cache = true, true
	for at.position = range h.model.Head() + 1 {
		cut := 0
		for cut < len(segments) && segments[cut].Last <= at.position {
			cut++
		}
		at.published = cut
		h.compare(current, h.base, at.position, false)
		if cut > 0 { // while a cut segment waits, documents end with it
			at.published = cut - 1
			h.compare(behind, h.base, segments[cut-1].Last, false)
		}
	}
	h.t.Logf("%d positions, %d segments, %d documents", h.model.Head()+1, len(segments), current.Documents()+behind.Documents())
}

// asOf is the store as a reader would have found it when the log ended at
// position and the first segments were published.
type asOf struct {
	*opened
	segments  []model.Segment
	position  model.Position
	published int
}

func (a *asOf) View(ctx context.Context, set, renderer string) (model.View, error) {
	v, err := a.opened.View(ctx, set, renderer)
	if err != nil {
		return v, err
	}
	v.Revision = int64(a.position)*1000 + int64(a.published)
	v.Published, v.Next = model.Segment{}, nil
	if a.published > 0 {
		v.Published = a.segments[a.published-1]
	}
	v.Head = model.Head{Position: a.position, Time: v.Set.Created, Changed: v.Set.Created}
	for i, s := range a.segments {
		if s.Last <= a.position {
			v.Head.Segments = s.Number
			if i == a.published {
				v.Next = &a.segments[i]
			}
		}
	}
	for c, err := range a.Changes(ctx, v.Set.ID, max(a.position-1, 0), a.position) {
		if err != nil {
			return v, err
		}
		v.Head.Time, v.Head.Changed = c.Time, c.Time
	}
	return v, nil
}

// rebase moves the store as the command does, publishes, and checks that the old
// epoch's sealed documents are gone.
func (h *history) rebase(base string) {
	h.t.Helper()
	old := h.witness.Sealed()
	if err := h.st.move(h.t.Context(), base, true); err != nil {
		h.t.Fatal(err)
	}
	if err := h.st.publisher.Publish(h.t.Context(), h.set.ID, publish.Due); err != nil {
		h.t.Fatal(err)
	}
	for _, url := range old {
		_, err := h.witness.Get(url, mediaTypeOf(url))
		var status *fold.StatusError
		if !errors.As(err, &status) || status.Status != http.StatusGone {
			h.t.Errorf("after the rebase %s answers %v, want 410", url, err)
		}
	}
	h.base = base
	h.witness = fold.NewWitness(h.witness.Client)
	h.replay()
	h.compareOverHTTP(base)
}

// testDatabase makes a database of the test's own on the MySQL or MariaDB server
// that GATEWAY_TEST_MYSQL names (default root@tcp(127.0.0.1:3306)/) and returns
// its URL.
func testDatabase(t testing.TB) string {
	t.Helper()
	dsn := cmp.Or(os.Getenv("GATEWAY_TEST_MYSQL"), "root@tcp(127.0.0.1:3306)/")
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.PingContext(t.Context()); err != nil {
		db.Close()
		if os.Getenv("CI") != "" {
			t.Fatalf("no MariaDB server: %v", err)
		}
		t.Skipf("no MariaDB server, GATEWAY_TEST_MYSQL names one: %v", err)
	}
	name := fmt.Sprintf("gateway_test_%d_%x", os.Getpid(), rand.Uint64())
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP DATABASE " + name); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	u := url.URL{Scheme: "mysql", User: url.UserPassword(config.User, config.Passwd), Host: config.Addr, Path: "/" + name}
	return u.String()
}
