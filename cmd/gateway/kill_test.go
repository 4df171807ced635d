package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gateway/internal/fold"
	"gateway/store"
)

// TestSoakKill kills imports, and now and then the serve beside them, at random
// moments. What was acknowledged stays, nothing is half-written, no sealed
// document changes, fsck finds nothing, and the next import completes the rest.
//
// GATEWAY_SOAK=1 makes it 50 kills on each database, otherwise it is a few.
func TestSoakKill(t *testing.T) {
	kills, records := 3, 3_000
	if os.Getenv("GATEWAY_SOAK") != "" {
		kills, records = 50, 20_000
	} else if testing.Short() {
		t.Skip("starts and kills processes")
	}
	for _, name := range []string{"SQLite", "MariaDB"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &killing{t: t, data: t.TempDir(), records: records, random: rand.New(rand.NewPCG(1, 2))}
			if name == "MariaDB" {
				k.database = testDatabase(t)
			}
			k.run(kills)
		})
	}
}

type killing struct {
	t              *testing.T
	data, database string
	records        int
	random         *rand.Rand

	st      *opened // to look at the log from a third process
	address string  // of serve
	server  *exec.Cmd
	witness *fold.Witness
	version int // of the input that is being imported
	seen    atomic.Int64
}

func (k *killing) run(kills int) {
	t := k.t
	k.address = freeAddress(t)
	k.witness = fold.NewWitness(&http.Client{Timeout: 20 * time.Second})
	k.serve()
	defer func() { k.server.Process.Kill(); k.server.Wait() }()
	var err error
	if k.st, err = openTestStore(t.Context(), k.data, k.database); err != nil {
		t.Fatal(err)
	}
	defer k.st.Close()
	completed := 0
	var took time.Duration // of an import that nobody killed
	for n := 0; n < kills; {
		k.version++
		file := k.input()
		for {
			moment := time.Duration(k.random.Int64N(int64(max(took, 600*time.Millisecond))))
			began := time.Now()
			if !k.importAndKill(file, moment) {
				took = time.Since(began)
				completed++
				break
			}
			n++
			if n%5 == 0 {
				k.server.Process.Kill()
				k.server.Wait()
				k.serve()
			}
			k.check()
		}
	}
	k.check()
	t.Logf("%d kills, %d completed imports, %d changes, %d documents fetched", kills, completed, k.seen.Load(), k.witness.Documents())
}

// gateway is the command with the store's flags, not started yet.
func (k *killing) gateway(args ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		k.t.Fatal(err)
	}
	args = append([]string{"gateway"}, append(args, "--data", k.data)...)
	if k.database != "" {
		args = append(args, "--database", k.database)
	}
	return &exec.Cmd{Path: exe, Args: args, Env: os.Environ()}
}

func (k *killing) serve() {
	k.t.Helper()
	k.server = k.gateway("serve", "--listen", k.address, "--access-log", "off")
	var stderr bytes.Buffer
	k.server.Stderr = &stderr
	if err := k.server.Start(); err != nil {
		k.t.Fatal(err)
	}
	for range 200 {
		if res, err := http.Get("http://" + k.address + "/readyz"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	k.server.Process.Kill()
	k.t.Fatalf("serve does not become ready:\n%s", stderr.String())
}

// input writes the file of the current version: every record, each with content
// that names the version.
func (k *killing) input() string {
	path := filepath.Join(k.data, fmt.Sprintf("input-%d.jsonl", k.version))
	var b bytes.Buffer
	for n := range k.records {
		text := strings.Repeat(fmt.Sprintf("record %d version %d ", n, k.version), 20)
		fmt.Fprintf(&b, `{"identifier":"urn:example:%d","title":"Version %d","representations":[{"name":"a.txt","type":"text/plain","content":%q},{"name":"b.json","type":"application/json","content":"{\"version\":%d}"}]}`+"\n",
			n, k.version, text, k.version)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		k.t.Fatal(err)
	}
	return path
}

// importAndKill starts an import of the file and kills it after a while; false
// when it had ended by then, and well.
func (k *killing) importAndKill(file string, after time.Duration) bool {
	cmd := k.gateway("import", "--set", "rivers", file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	kill := time.After(after)
	for {
		select {
		case err := <-ended:
			if err != nil {
				k.t.Fatalf("import: %v\n%s", err, stderr.String())
			}
			k.look()
			if c := k.counts(); c[k.version] != k.records {
				k.t.Fatalf("after a complete import %d of %d records have its version", c[k.version], k.records)
			}
			return false
		case <-kill:
			cmd.Process.Signal(syscall.SIGKILL)
			<-ended
			return true
		case <-time.After(5 * time.Millisecond):
			k.look()
		}
	}
}

// look remembers how far the log was seen to reach.
func (k *killing) look() {
	v, err := k.st.View(k.t.Context(), "rivers", "")
	if err == nil {
		if at := int64(v.Head.Position); at < k.seen.Load() {
			k.t.Errorf("the log was at %d and is at %d", k.seen.Load(), at)
		} else {
			k.seen.Store(at)
		}
	}
}

// counts says how many records have each version.
func (k *killing) counts() map[int]int {
	k.t.Helper()
	v, err := k.st.View(k.t.Context(), "rivers", "")
	if err != nil {
		return nil // killed before the set was made
	}
	versions := map[int]int{}
	last := 0
	for c, err := range k.st.States(k.t.Context(), v.Set.ID, v.Head.Position, 0) {
		if err != nil {
			k.t.Fatal(err)
		}
		var version int
		if _, err := fmt.Sscanf(c.Title, "Version %d", &version); err != nil || len(c.Resources) != 2 {
			k.t.Fatalf("record %d is %q with %d resources", c.Record, c.Title, len(c.Resources))
		}
		if last != 0 && version > last {
			k.t.Fatalf("record %d has version %d after records of version %d: an import works from the front", c.Record, version, last)
		}
		last = version
		versions[version]++
	}
	return versions
}

// check looks at everything after a kill.
func (k *killing) check() {
	k.t.Helper()
	k.look()
	versions := k.counts()
	for version := range versions {
		if version != k.version && version != k.version-1 {
			k.t.Errorf("records of version %d while %d is imported", version, k.version)
		}
	}
	err := k.st.Check(k.t.Context(), func(p store.Problem) { k.t.Errorf("fsck: %+v", p) })
	if err != nil {
		k.t.Fatal(err)
	}
	if len(versions) == 0 {
		return
	}
	records, resources := k.published()
	if len(resources) != 2*len(records) {
		k.t.Errorf("the Atom chain has %d records, the change lists %d resources", len(records), len(resources))
	}
	if err := k.witness.Recheck(mediaTypeOf); err != nil {
		k.t.Error(err)
	}
}

// published folds what serve gives, both ways at one moment: serve goes on
// publishing meanwhile, so it may take several looks.
func (k *killing) published() (map[string]fold.Record, map[string]fold.Resource) {
	k.t.Helper()
	base := "http://" + k.address
	for {
		before, err := k.witness.Atom(base + "/atom/rivers")
		if err != nil {
			k.t.Fatal(err)
		}
		changes, err := k.witness.ChangeList(base + "/rs/rivers/capabilitylist.xml")
		if err != nil {
			k.t.Fatal(err)
		}
		resources := map[string]fold.Resource{}
		if err := fold.Apply(resources, changes, ""); err != nil {
			k.t.Fatal(err)
		}
		after, err := k.witness.Atom(base + "/atom/rivers")
		if err != nil {
			k.t.Fatal(err)
		}
		if maps.EqualFunc(before, after, func(a, b fold.Record) bool { return a.Updated == b.Updated }) {
			return after, resources
		}
	}
}
