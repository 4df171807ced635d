package main

import (
	"bytes"
	"os"
	"testing"
	"time"
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
