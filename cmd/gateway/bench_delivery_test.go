package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"gateway/model"
	"gateway/publish"
	"gateway/store"
)

// load is how requests are made: by wrk, over as many connections, for as long.
const (
	loadConnections = 16
	loadSeconds     = 2
)

// side is one of two servers that are compared, and what was measured.
type side struct {
	server served
	path   string
	header []string // "Name: value"

	rates, costs []float64 // requests/s, and processor seconds per request, of each round
}

var requestRate = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// measure loads s for a round.
func (s *side) measure(b *testing.B, wrk string) {
	b.Helper()
	args := []string{"-t1", fmt.Sprintf("-c%d", loadConnections), fmt.Sprintf("-d%ds", loadSeconds)}
	for _, h := range s.header {
		args = append(args, "-H", h)
	}
	before, began := cpu(b, s.server.pid), time.Now()
	out, err := exec.Command(wrk, append(args, s.server.url+s.path)...).CombinedOutput()
	used, took := cpu(b, s.server.pid)-before, time.Since(began)
	if err != nil {
		b.Fatalf("wrk: %v: %s", err, out)
	}
	found := requestRate.FindSubmatch(out)
	if found == nil || regexp.MustCompile(`Non-2xx|Socket errors`).Match(out) {
		b.Fatalf("wrk of %s: %s", s.path, out)
	}
	rate, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	s.rates = append(s.rates, rate)
	s.costs = append(s.costs, used.Seconds()/(rate*took.Seconds()))
}

// compare loads two servers in turns and reports the medians of all rounds.
func compare(b *testing.B, ours, theirs *side, name string) {
	b.Helper()
	wrk := tool(b, "wrk")
	for b.Loop() {
		ours.measure(b, wrk)
		theirs.measure(b, wrk)
	}
	b.ReportMetric(median(ours.rates), "req/s")
	b.ReportMetric(median(theirs.rates), name+"-req/s")
	b.ReportMetric(median(ours.rates)/median(theirs.rates), "×"+name+"-rate")
	b.ReportMetric(median(ours.costs)*1e6, "µs-cpu/req")
	b.ReportMetric(median(theirs.costs)*1e6, name+"-µs-cpu/req")
	b.ReportMetric(median(ours.costs)/median(theirs.costs), "×"+name+"-cpu")
	b.ReportMetric(0, "ns/op") // rounds have a fixed length
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// BenchmarkSealedDocument compares a sealed document of about 100 KB gzip with
// the same bytes from nginx, both with an access log. It should be at least 0.75
// of nginx's rate for at most 1.6 of its processor time.
func BenchmarkSealedDocument(b *testing.B) {
	tool(b, "wrk")
	data := b.TempDir()
	publishedSet(b, data, "", 4000)
	ours := serveStore(b, nil, data)
	const path = "/atom/delivery/1/archive/1"
	for _, row := range []struct{ coding, suffix string }{{"gzip", ".gz"}, {"zstd", ""}, {"identity", ""}} {
		b.Run(row.coding, func(b *testing.B) {
			dir := b.TempDir()
			n := download(b, ours.url+path, row.coding, filepath.Join(dir, "archive"+row.suffix))
			b.Logf("%d bytes", n)
			address := freeAddress(b)
			server := served{url: "http://" + address}
			server.pid = startNginx(b, server.url, fmt.Sprintf("\tserver { listen %s; root %s; gzip_static on; }", address, dir))
			if row.suffix != "" { // of which nginx wants to see the plain one too
				download(b, ours.url+path, "identity", filepath.Join(dir, "archive"))
			}
			header := []string{"Accept-Encoding: " + row.coding}
			compare(b, &side{server: ours, path: path, header: header}, &side{server: server, path: "/archive", header: header}, "nginx")
		})
	}
}

// BenchmarkMovingNotModified compares a moving document that is answered 304 with
// a handler that does nothing else. It should be at least half the rate on
// SQLite.
func BenchmarkMovingNotModified(b *testing.B) {
	tool(b, "wrk")
	for _, name := range []string{"SQLite", "MariaDB"} {
		b.Run(name, func(b *testing.B) {
			data, database, args := b.TempDir(), "", []string(nil)
			if name == "MariaDB" {
				database = testDatabase(b)
				args = []string{"--database", database}
			}
			publishedSet(b, data, database, 100)
			ours := serveStore(b, nil, data, args...)
			address := freeAddress(b)
			bare := startProcess(b, "http://"+address, nil, bareCommand, address)
			const path = "/atom/delivery"
			res, err := get(ours.url+path, map[string]string{"Accept-Encoding": "identity"})
			if err != nil {
				b.Fatal(err)
			}
			res.Body.Close()
			header := []string{"If-None-Match: " + res.Header.Get("Etag")}
			compare(b, &side{server: ours, path: path, header: header}, &side{server: bare, path: path, header: header}, "bare")
		})
	}
}

// deliveryBase is the base URL of what publishedSet makes.
const deliveryBase = "https://sync.example.org"

// publishedSet makes a set called delivery of two and a half segments, and
// publishes them.
func publishedSet(tb testing.TB, data, database string, segment int) {
	tb.Helper()
	st, err := openTestStore(tb.Context(), data, database)
	if err != nil {
		tb.Fatal(err)
	}
	defer st.Close()
	if err := st.SetBaseURL(tb.Context(), deliveryBase, true); err != nil {
		tb.Fatal(err)
	}
	policy := model.DefaultPolicy()
	policy.SegmentSize = segment
	set, err := st.CreateSet(tb.Context(), model.Set{Name: "delivery", Policy: policy})
	if err != nil {
		tb.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	batch := min(segment/4, store.MaxRecords)
	for n := 0; n < segment*5/2; n += batch {
		records := make([]model.Incoming, batch)
		for i := range records {
			records[i] = generated(random, n+i)
		}
		if _, err := st.Commit(tb.Context(), set.ID, records, store.CommitOptions{}); err != nil {
			tb.Fatal(err)
		}
	}
	if err := st.publisher.Publish(tb.Context(), set.ID, publish.Snapshot); err != nil {
		tb.Fatal(err)
	}
}

// plainTransport adds nothing to a request and unpacks nothing.
var plainTransport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}

// get asks once.
func get(address string, header map[string]string) (*http.Response, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	return plainTransport.RoundTrip(r)
}

// download writes what is at address, in a coding, to a file, and returns its
// length.
func download(tb testing.TB, address, coding, path string) int64 {
	tb.Helper()
	res, err := get(address, map[string]string{"Accept-Encoding": coding})
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		tb.Fatalf("%s: %s", address, res.Status)
	}
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	n, err := io.Copy(file, res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// stopOnTerm lets SIGTERM end the server with exit status 0.
func stopOnTerm(server *http.Server) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		_ = server.Close()
	}()
}
