package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gateway/model"
	"gateway/publish"
	"gateway/resourcesync"
	"gateway/store"
)

// generated is a varied record: title, collections, a metadata record in one or
// two formats, now and then a file. Two records in three have two resources, one
// in six one, one in six three.
func generated(random *rand.Rand, n int) model.Incoming {
	in := model.Incoming{Record: model.Record{Identifier: fmt.Sprintf("https://repository.example.org/items/%d", n)}}
	in.Record.Title = titles[random.IntN(len(titles))] + fmt.Sprintf(", no. %d", n)
	in.Record.Collections = []string{fmt.Sprintf("collection-%d", random.IntN(30))}
	add := func(role model.Role, name, mediaType string) {
		text := fmt.Sprintf("%s %d %x", name, n, random.Uint64()) + strings.Repeat("0123456789", random.IntN(20))
		r, body := keptText(role, name, mediaType, text, false)
		in.Record.Resources = append(in.Record.Resources, r)
		in.Bodies = append(in.Bodies, body)
	}
	kind := random.IntN(6)
	add(model.Representation, "oai_dc.xml", "application/xml")
	in.Record.Resources[0].Profile = "http://www.openarchives.org/OAI/2.0/oai_dc/"
	if kind != 0 {
		add(model.Representation, "record.json", "application/json")
	}
	if kind == 1 {
		add(model.File, fmt.Sprintf("Report %d.pdf", n), "application/pdf")
	}
	return in
}

var titles = []string{"On the flow of rivers", "Ein Versuch über Brücken", "Über & unter <Wasser>", "水文学の研究", "Letters to a surveyor"}

// fill brings a set to the given number of records, without publishing.
func fill(tb testing.TB, st *opened, set model.Set, records int) {
	tb.Helper()
	random := rand.New(rand.NewPCG(uint64(records), 1))
	for n := 0; n < records; {
		batch := make([]model.Incoming, min(store.MaxRecords, records-n))
		for i := range batch {
			batch[i] = generated(random, n+i)
		}
		if _, err := st.Commit(tb.Context(), set.ID, batch, store.CommitOptions{}); err != nil {
			tb.Fatal(err)
		}
		n += len(batch)
	}
}

// BenchmarkScale measures what a set's size must not change, and what grows with
// it: a snapshot, which is all of the state, in records of two resources on
// average.
func BenchmarkScale(b *testing.B) {
	for _, resources := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("resources=%d", resources), func(b *testing.B) {
			st, err := openTestStore(b.Context(), b.TempDir(), "")
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			if err := st.SetBaseURL(b.Context(), "https://sync.example.org", true); err != nil {
				b.Fatal(err)
			}
			set, err := st.CreateSet(b.Context(), model.Set{Name: "scale", Policy: model.DefaultPolicy()})
			if err != nil {
				b.Fatal(err)
			}
			fill(b, st, set, resources/2)
			s := &scale{st: st, set: set, records: resources / 2}
			b.Run("segments", s.segments)
			b.Run("first-resource-list", s.firstList)
			s.openTail(b, 1000)
			b.Run("log-page-1000", s.logPage)
			b.Run("archive-1000", func(b *testing.B) { s.get(b, "/atom/scale/1/archive/1") })
			b.Run("newest-archive-1000", func(b *testing.B) { s.get(b, fmt.Sprintf("/atom/scale/1/archive/%d", s.segmentsCut)) })
			b.Run("open-change-list-999", func(b *testing.B) { s.get(b, fmt.Sprintf("/rs/scale/1/changelist/%d.xml", s.segmentsCut+1)) })
			b.Run("subscription-1999", func(b *testing.B) { s.get(b, "/atom/scale") })
			b.Run("list-after-10-changes", s.nextList)
		})
	}
}

type scale struct {
	st          *opened
	set         model.Set
	records     int
	segmentsCut int
}

func (s *scale) segments(b *testing.B) {
	began := time.Now()
	if err := s.st.publisher.Publish(b.Context(), s.set.ID, publish.Segments); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	v := s.view(b)
	s.segmentsCut = int(v.Head.Segments)
	b.ReportMetric(float64(s.records)/max(took.Seconds(), 1e-9), "records/s")
}

func (s *scale) view(b *testing.B) model.View {
	v, err := s.st.View(b.Context(), s.set.Name, resourcesync.Name)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func (s *scale) firstList(b *testing.B) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(200 << 20))
	began := time.Now()
	if err := s.st.publisher.Publish(b.Context(), s.set.ID, publish.Snapshot); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	b.ReportMetric(took.Seconds(), "s/list")
	b.ReportMetric(2*float64(s.records)/took.Seconds(), "resources/s")
	b.ReportMetric(float64(peakMemory())/(1<<20), "MB-peak-of-process")
}

// nextList is the whole list again after a few changes.
func (s *scale) nextList(b *testing.B) {
	random := rand.New(rand.NewPCG(9, 9))
	batch := make([]model.Incoming, 10)
	for i := range batch {
		batch[i] = generated(random, random.IntN(s.records))
	}
	if _, err := s.st.Commit(b.Context(), s.set.ID, batch, store.CommitOptions{}); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := s.st.publisher.Publish(b.Context(), s.set.ID, publish.Snapshot); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(began).Seconds(), "s/list")
}

// openTail appends one change less than fills a segment.
func (s *scale) openTail(b *testing.B, n int) {
	random := rand.New(rand.NewPCG(5, 5))
	batch := make([]model.Incoming, n-1)
	for i := range batch {
		batch[i] = generated(random, s.records+i)
	}
	if _, err := s.st.Commit(b.Context(), s.set.ID, batch, store.CommitOptions{}); err != nil {
		b.Fatal(err)
	}
}

func (s *scale) logPage(b *testing.B) {
	b.ReportAllocs()
	var times []time.Duration
	head := s.view(b).Head.Position
	for b.Loop() {
		began := time.Now()
		n := 0
		for _, err := range s.st.Changes(b.Context(), s.set.ID, head/2, head/2+1000) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n == 0 {
			b.Fatal("no changes")
		}
		times = append(times, time.Since(began))
	}
	report99(b, times)
}

// get fetches a document through the public handler.
func (s *scale) get(b *testing.B, path string) {
	b.ReportAllocs()
	client := clientOf(handlerOf(s.st))
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		res, err := client.Get("https://sync.example.org" + path)
		if err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			b.Fatalf("%s: %s", path, res.Status)
		}
		times = append(times, time.Since(began))
	}
	report99(b, times)
}

func report99(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "ms-p99")
}

// peakMemory is the largest resident size this process has had, in bytes, 0
// where the system does not tell.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}

// BenchmarkManySets imports 5,000 sets of 200 records with --set-from, and the
// same records into one set, and compares the times. SETS=n chooses another
// number of sets.
func BenchmarkManySets(b *testing.B) {
	sets := 5000
	if s := os.Getenv("SETS"); s != "" {
		var err error
		if sets, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	const records = 200
	named, plain := b.TempDir()+"/named.jsonl", b.TempDir()+"/plain.jsonl"
	writeSets(b, named, sets, records, true)
	writeSets(b, plain, sets, records, false)
	var many, one time.Duration
	for b.Loop() {
		began := time.Now()
		if command(b, "import", "--data", b.TempDir(), "--set-from", "repository", named) != 0 {
			b.Fatal("the import failed")
		}
		many += time.Since(began)
		began = time.Now()
		if command(b, "import", "--data", b.TempDir(), "--set", "one", plain) != 0 {
			b.Fatal("the import failed")
		}
		one += time.Since(began)
	}
	b.ReportMetric(many.Seconds()/one.Seconds(), "times-one-set")
	b.ReportMetric(float64(b.N*sets*records)/many.Seconds(), "records/s")
}

// writeSets writes records of several sets, set after set; named says whether a
// field names the set.
func writeSets(tb testing.TB, path string, sets, records int, named bool) {
	tb.Helper()
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	w := bufio.NewWriter(file)
	for set := range sets {
		field := ""
		if named {
			field = fmt.Sprintf(`"repository":"repository-%d",`, set)
		}
		for n := range records {
			fmt.Fprintf(w, `{%s"identifier":"urn:example:%d:%d","title":"Record %d of %d","representations":[{"name":"dc.xml","type":"application/xml","content":"<dc>%d %d</dc>"}]}`+"\n",
				field, set, n, n, set, set, n)
		}
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
}

// TestCostOfASmallSet counts what it takes to import, cut, publish and list a
// set of 200 records: an aggregator has thousands of them.
func TestCostOfASmallSet(t *testing.T) {
	// What a dump adds is the manifest of its package.
	t.Run("lists", func(t *testing.T) {
		costOfASmallSet(t, []string{model.CapabilityResourceList, model.CapabilityChangeList}, 4, 3)
	})
	t.Run("lists and dumps", func(t *testing.T) {
		costOfASmallSet(t, model.Capabilities(), 4, 5)
	})
}

func costOfASmallSet(t *testing.T, capabilities []string, transactions, objects int) {
	data := t.TempDir()
	st, err := openTestStore(t.Context(), data, "")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.settleBaseURL(t.Context(), "", "http://sync.example.org", false); err != nil {
		t.Fatal(err)
	}
	policy := model.DefaultPolicy()
	policy.SegmentSize = 200
	policy.Capabilities = capabilities
	if _, err := st.CreateSet(t.Context(), model.Set{Name: "small", Policy: policy}); err != nil {
		t.Fatal(err)
	}
	before := objectsIn(t, data)
	file := data + "/small.jsonl"
	writeSets(t, file, 1, 200, false)
	if command(t, "import", "--data", data, "--set", "small", file) != 0 {
		t.Fatal("the import failed")
	}
	v, err := st.View(t.Context(), "small", resourcesync.Name)
	if err != nil {
		t.Fatal(err)
	}
	if v.Published.Number != 1 || v.Snapshot.Resources != 200 {
		t.Errorf("published %d segments and a snapshot of %d resources", v.Published.Number, v.Snapshot.Resources)
	}
	if n := 1 + transactionsOf(t, data, v.Set.ID); n > transactions { // 1: the creation leaves no token
		t.Errorf("%d transactions, want at most %d", n, transactions)
	}
	if n := objectsIn(t, data) - before; n > objects {
		t.Errorf("%d objects, want at most %d", n, objects)
	}
}

// transactionsOf counts the tokens that writing transactions left.
func transactionsOf(t *testing.T, data string, set model.SetID) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", data+"/gateway.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM writes WHERE set_id = ?", set).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func objectsIn(t *testing.T, data string) (n int) {
	t.Helper()
	err := filepath.WalkDir(data+"/objects", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
