package store_test

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"testing"

	"gateway/model"
	"gateway/store"
)

// sample makes n records like those of a museum's catalogue: two representations
// of about 1 KB each as they are kept.
func sample(first, n int) []model.Incoming {
	r := rand.New(rand.NewPCG(1, uint64(first)))
	batch := make([]model.Incoming, n)
	for i := range batch {
		rec := model.Record{Identifier: fmt.Sprintf("urn:example:artwork:%08d", first+i)}
		rec.Title = fmt.Sprintf("Study no. %d for “The Fighting Temeraire” & other ships", first+i)
		rec.Collections = []string{"turner-bequest", "works-on-paper"}
		rec.Modified = "2013-12-01T00:00:00Z"
		for _, x := range [][3]string{
			{"record.json", "application/json", ""},
			{"oai_dc.xml", "application/xml", "http://www.openarchives.org/OAI/2.0/oai_dc/"},
		} {
			b := make([]byte, 900+r.IntN(200))
			for j := range b {
				b[j] = byte(r.Uint32())
			}
			c := model.Content{Length: 2300, SHA256: sha256.Sum256(b), MD5: md5.Sum(b), CRC32: crc32.ChecksumIEEE(b), Deflated: true, Stored: int64(len(b))}
			rec.Resources = append(rec.Resources, model.Resource{Name: x[0], Type: x[1], Profile: x[2], Content: c})
			batch[i].Bodies = append(batch[i].Bodies, model.Body{Bytes: b})
		}
		batch[i].Record = rec
	}
	return batch
}

func openBench(b *testing.B) (*store.Store, model.Set) {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{Dir: b.TempDir(), Renderers: []string{"atom-pmh", "resourcesync-1.1"}, Database: os.Getenv("BENCH_DB")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	set, err := s.CreateSet(ctx, model.Set{Name: fmt.Sprintf("bench%d", rand.Int64()), Policy: model.DefaultPolicy()})
	if err != nil {
		b.Fatal(err)
	}
	return s, set
}

// BenchmarkCommit is a bulk import of new records, 1,000 in a transaction.
func BenchmarkCommit(b *testing.B) {
	s, set := openBench(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		b.StopTimer()
		batch := sample(n*1000, 1000)
		n++
		b.StartTimer()
		if _, err := s.Commit(context.Background(), set.ID, batch, store.CommitOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*1000)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkRead scans a log of 50,000 changes.
func BenchmarkRead(b *testing.B) {
	s, set := openBench(b)
	ctx := context.Background()
	const batches = 50
	for i := range batches {
		if _, err := s.Commit(ctx, set.ID, sample(i*1000, 1000), store.CommitOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	head := model.Position(batches * 1000)
	b.Run("changes", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			for _, err := range s.Changes(ctx, set.ID, 0, head) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("states", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			for _, err := range s.States(ctx, set.ID, head, 0) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("states in the past", func(b *testing.B) {
		n := 0
		for b.Loop() {
			for _, err := range s.States(ctx, set.ID, head/2, 0) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
	})
}
