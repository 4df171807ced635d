package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"gateway/model"
)

// museum holds the records of a museum: 69,129 lines, 318 MB unpacked, with the
// museum's own JSON as a long escaped string.
const museum = "../../shared/data/tate/artworks.jsonl.gz"

// nowhere is a store that takes everything and keeps nothing.
type nowhere struct{ position model.Position }

func (n *nowhere) OpenSet(context.Context, string) (model.Set, model.Head, error) {
	return model.Set{ID: 1, Policy: model.DefaultPolicy()}, model.Head{}, nil
}

func (n *nowhere) Commit(_ context.Context, _ model.SetID, batch []model.Incoming) (Committed, error) {
	c := Committed{Outcomes: make([]model.Outcome, len(batch))}
	for i := range batch {
		n.position++
		c.Outcomes[i] = model.Outcome{Number: model.RecordNumber(n.position), Position: n.position, Kind: model.Created}
	}
	return c, nil
}

func (n *nowhere) ReserveObject(context.Context, model.SetID, string, time.Duration) error {
	return nil
}
func (n *nowhere) Heads(context.Context) (map[string]model.Head, error) { return nil, nil }
func (n *nowhere) States(context.Context, model.SetID, model.Position, model.RecordNumber) iter.Seq2[*model.Change, error] {
	return func(func(*model.Change, error) bool) {}
}
func (n *nowhere) Create(_ context.Context, _ string, r io.Reader) (int64, error) {
	return io.Copy(io.Discard, r)
}
func (n *nowhere) Delete(context.Context, string) error { return nil }

func museumFile(b *testing.B) string {
	if _, err := os.Stat(museum); err != nil {
		b.Skipf("the museum's records are not here: %v", err)
	}
	return museum
}

// BenchmarkImport69kMuseumRecords runs the whole import but for the database.
func BenchmarkImport69kMuseumRecords(b *testing.B) {
	path := museumFile(b)
	b.ReportAllocs()
	for b.Loop() {
		sink := &nowhere{}
		im, err := New(sink, sink, Config{Set: "tate"})
		if err != nil {
			b.Fatal(err)
		}
		inputs, err := Files([]string{path}, nil)
		if err != nil {
			b.Fatal(err)
		}
		r, err := im.Run(context.Background(), inputs)
		if err != nil || r.Created != 69_129 || r.Rejected != 0 {
			b.Fatalf("%+v, %v", r, err)
		}
	}
	seconds := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(69_129/seconds, "records/s")
	b.ReportMetric(317.8/seconds, "MB/s")
}

// museumLines returns the first lines of the museum.
func museumLines(b *testing.B, n int) (lines [][]byte, size int64) {
	f, err := os.Open(museumFile(b))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	all, err := io.ReadAll(io.LimitReader(z, int64(n)*10_000))
	if err != nil {
		b.Fatal(err)
	}
	for line := range bytes.Lines(all) {
		if len(lines) == n {
			break
		}
		lines = append(lines, line)
		size += int64(len(line))
	}
	return lines, size
}

func BenchmarkDecode5kMuseumLines(b *testing.B) {
	lines, size := museumLines(b, 5000)
	b.Run("decoder", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		d := newDecoder("")
		var content []byte
		for b.Loop() {
			for _, line := range lines {
				in, err := d.decode(line)
				if err != nil {
					b.Fatal(err)
				}
				for i := range in.sources {
					content, _ = unescape(content[:0], in.sources[i].text.raw, 1<<30)
				}
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		type resource struct{ Name, Type, Profile, Hreflang, Content string }
		for b.Loop() {
			for _, line := range lines {
				var r struct {
					Identifier, Title, Summary, Modified string
					Collections                          []string
					Representations, Files               []resource
				}
				d := json.NewDecoder(strings.NewReader(string(line)))
				d.DisallowUnknownFields()
				if err := d.Decode(&r); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
