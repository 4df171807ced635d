package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"gateway/internal/fold"
)

// museum is real input: 69,129 records of an art museum, 138,258 resources.
const (
	museum        = "../../../shared/data/tate/artworks.jsonl.gz"
	museumRecords = 69_129
)

// museumFile is the path of the museum's records; the test is skipped where they
// are not.
func museumFile(t testing.TB) string {
	if _, err := os.Stat(museum); err != nil {
		t.Skipf("the museum's records are not here: %v", err)
	}
	return museum
}

// command runs a gateway command in this process and returns its exit status.
func command(t testing.TB, args ...string) int {
	var out, errs bytes.Buffer
	status := run(t.Context(), args, console{in: bytes.NewReader(nil), out: &out, err: &errs})
	if status != 0 {
		t.Logf("gateway %q: %s%s", args, out.String(), errs.String())
	}
	return status
}

// BenchmarkImportMuseum imports the museum's records into a fresh store, hashed,
// deflated, committed, published and listed, then imports them again: nothing
// differs.
func BenchmarkImportMuseum(b *testing.B) {
	file := museumFile(b)
	for _, database := range []string{"SQLite", "MariaDB"} {
		b.Run(database, func(b *testing.B) {
			var first, again time.Duration
			for b.Loop() {
				args := []string{"import", "--data", b.TempDir(), "--set", "tate", file}
				if database == "MariaDB" {
					args = append(args, "--database", testDatabase(b))
				}
				for _, took := range []*time.Duration{&first, &again} {
					began := time.Now()
					if command(b, args...) != 0 {
						b.Fatal("the import failed")
					}
					*took += time.Since(began)
				}
			}
			b.ReportMetric(museumRecords*float64(b.N)/first.Seconds(), "records/s")
			b.ReportMetric(museumRecords*float64(b.N)/again.Seconds(), "unchanged/s")
		})
	}
}

// TestMuseum imports the museum's records and folds everything published back
// into exactly what was imported.
func TestMuseum(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	file := museumFile(t)
	data := t.TempDir()
	if command(t, "import", "--data", data, "--base-url", "http://sync.example.org", "--set", "tate", file) != 0 {
		t.Fatal("the import failed")
	}
	st, err := openTestStore(t.Context(), data, "")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	w := fold.NewWitness(clientOf(handlerOf(st)))
	lists, err := w.CapabilityLists("http://sync.example.org")
	if err != nil {
		t.Fatal(err)
	}
	records, err := w.Atom("http://sync.example.org/atom/tate")
	if err != nil {
		t.Fatal(err)
	}
	fromList, _, err := w.ResourceList(lists["tate"])
	if err != nil {
		t.Fatal(err)
	}
	changes, err := w.ChangeList(lists["tate"])
	if err != nil {
		t.Fatal(err)
	}
	fromChanges := map[string]fold.Resource{}
	if err := fold.Apply(fromChanges, changes, ""); err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for uri := range fromList {
		left[uri] = true
	}
	for r := range museumInput(t, file) {
		got, ok := records[r.Identifier]
		if !ok || got.Title != r.Title || len(got.Alternates) != len(r.Representations) {
			t.Fatalf("%s: the Atom chain has %+v", r.Identifier, got)
		}
		delete(records, r.Identifier)
		for uri := range got.Alternates {
			want := r.resource(t, uri)
			if fromList[uri] != want || fromChanges[uri] != want {
				t.Fatalf("%s: lists have %+v and %+v, want %+v", uri, fromList[uri], fromChanges[uri], want)
			}
			delete(left, uri)
			delete(fromChanges, uri)
		}
	}
	if len(records)+len(left)+len(fromChanges) != 0 {
		t.Errorf("%d records, %d listed and %d changed resources are not in the input", len(records), len(left), len(fromChanges))
	}
	t.Logf("%d documents", w.Documents())
}

// museumRecord is a line of the input as the standard library reads it.
type museumRecord struct {
	Identifier, Title string
	Representations   []struct{ Name, Type, Content string }
}

func (r *museumRecord) resource(t *testing.T, uri string) fold.Resource {
	for _, x := range r.Representations {
		if strings.HasSuffix(uri, "/"+x.Name) {
			return fold.Resource{Type: x.Type, Length: int64(len(x.Content)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(x.Content)))}
		}
	}
	t.Fatalf("%s: no representation of %s", uri, r.Identifier)
	return fold.Resource{}
}

func museumInput(t *testing.T, path string) iter.Seq[*museumRecord] {
	return func(yield func(*museumRecord) bool) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		plain, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		for d := json.NewDecoder(plain); ; {
			var r museumRecord
			if err := d.Decode(&r); err == io.EOF {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			if !yield(&r) {
				return
			}
		}
	}
}

// TestSoakLargeContent loads a file of 3 GB and downloads it, once broken off
// and resumed, in flat memory. It is for GATEWAY_SOAK=1.
func TestSoakLargeContent(t *testing.T) {
	if os.Getenv("GATEWAY_SOAK") == "" {
		t.Skip("writes 3 GB; GATEWAY_SOAK=1 runs it")
	}
	const size = 3 << 30
	dir := t.TempDir()
	path := dir + "/scans.zip"
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(file, sum), rand.NewChaCha8([32]byte{1}), size); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	line := `{"identifier":"urn:example:1","title":"Scans","representations":[{"name":"r.json","type":"application/json","content":"{}"}],` +
		`"files":[{"name":"scans.zip","type":"application/zip","content_file":"scans.zip"}]}`
	if err := os.WriteFile(dir+"/records.jsonl", []byte(line+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k := &killing{t: t, data: t.TempDir(), address: freeAddress(t)}
	load := k.gateway("import", "--set", "scans", "--files", dir, dir+"/records.jsonl")
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	loaded := load.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
	k.serve()
	defer k.server.Process.Kill()
	got := sha256.New()
	url := "http://" + k.address + "/r/scans/1/scans.zip"
	for _, bounds := range []string{"bytes=0-1234567890", "bytes=1234567891-"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Range", bounds)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(got, res.Body); err != nil || res.StatusCode != http.StatusPartialContent {
			t.Fatalf("%s: %s, %v", bounds, res.Status, err)
		}
		res.Body.Close()
	}
	if !bytes.Equal(got.Sum(nil), sum.Sum(nil)) {
		t.Error("what was downloaded in two parts is not what was loaded")
	}
	if err := k.server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := k.server.Wait(); err != nil {
		t.Error(err)
	}
	served := k.server.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
	t.Logf("peak memory: import %d MB, serve %d MB", loaded, served)
	if loaded > 300 || served > 300 {
		t.Error("memory is not flat")
	}
}
