package dump_test

import (
	"archive/zip"
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"gateway/dump"
	"gateway/model"
)

// The load of the benchmarks: a pack of 20,000 members of 4 KiB.
const (
	benchMembers = 20_000
	benchMember  = 4 << 10
)

// benchPack is the pack as a file, with what an index needs.
func benchPack(b *testing.B) (*os.File, []piece) {
	rng := rand.NewChaCha8([32]byte{1})
	pack := make([]byte, benchMembers*benchMember)
	must(rng.Read(pack))
	file := filepath.Join(b.TempDir(), "pack")
	if err := os.WriteFile(file, pack, 0o600); err != nil {
		b.Fatal(err)
	}
	f := must(os.Open(file))
	b.Cleanup(func() { f.Close() })
	pieces := make([]piece, benchMembers)
	for i := range pieces {
		path := dump.AppendResourcePath(nil, model.RecordNumber(i+1), "oai_dc.xml")
		pieces[i] = newPiece(string(path), pack[i*benchMember:(i+1)*benchMember], false, march)
	}
	return f, pieces
}

// benchIndex begins with a manifest of no bytes, to be like the others.
func benchIndex(b *testing.B, pieces []piece) *dump.Index {
	x := must(dump.NewIndex(dump.Version, len(pieces)+1))
	if err := x.Add([]byte(dump.ManifestName), &model.Content{}, march); err != nil {
		b.Fatal(err)
	}
	for i := range pieces {
		if err := x.Add([]byte(pieces[i].path), &pieces[i].content, pieces[i].time); err != nil {
			b.Fatal(err)
		}
	}
	return x
}

// toFile makes a fresh file and says how long its filling took.
func toFile(b *testing.B, fill func(w *os.File) error) time.Duration {
	f := must(os.Create(filepath.Join(b.TempDir(), "out")))
	defer os.Remove(f.Name())
	defer f.Close()
	start := time.Now()
	if err := fill(f); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// onlyWriter hides ReadFrom, so that the pack goes through memory like the
// others and not from file to file within the kernel.
type onlyWriter struct{ io.Writer }

func writeWithArchiveZip(w io.Writer, f *os.File, pieces []piece) error {
	z := zip.NewWriter(w)
	for i := range pieces {
		h := &zip.FileHeader{Name: pieces[i].path, Method: zip.Store, Modified: pieces[i].time.Time()}
		m, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := io.Copy(m, io.NewSectionReader(f, int64(i)*benchMember, benchMember)); err != nil {
			return err
		}
	}
	return z.Close()
}

func copyPack(w io.Writer, f *os.File) error {
	_, err := io.CopyBuffer(onlyWriter{w}, io.NewSectionReader(f, 0, benchMembers*benchMember), make([]byte, 1<<20))
	return err
}

// BenchmarkCopy20000x4K copies a package out of a pack, beside archive/zip
// storing the same members and beside copying the pack alone with the same
// buffer, each in turn in one run. It reports medians: MB/s of the package, how
// many times as fast as archive/zip it is, and which part of the plain copy's
// speed it has.
func BenchmarkCopy20000x4K(b *testing.B) {
	f, pieces := benchPack(b)
	x := benchIndex(b, pieces)
	runs := &dump.Runs{}
	runs.Append(f, 0, benchMembers*benchMember)
	p := must(dump.NewPackage(x, runs))
	for _, to := range []string{"discard", "file"} {
		b.Run(to, func(b *testing.B) {
			timed := func(fill func(w io.Writer) error) time.Duration {
				if to == "file" {
					return toFile(b, func(w *os.File) error { return fill(w) })
				}
				start := time.Now()
				if err := fill(io.Discard); err != nil {
					b.Fatal(err)
				}
				return time.Since(start)
			}
			var ours, archives, plain []time.Duration
			for b.Loop() {
				ours = append(ours, timed(func(w io.Writer) error {
					_, err := p.WriteRange(w, 0, p.Size())
					return err
				}))
				plain = append(plain, timed(func(w io.Writer) error { return copyPack(w, f) }))
				archives = append(archives, timed(func(w io.Writer) error { return writeWithArchiveZip(w, f, pieces) }))
			}
			b.ReportMetric(float64(p.Size())/1e6/median(ours).Seconds(), "MB/s")
			b.ReportMetric(median(archives).Seconds()/median(ours).Seconds(), "×archive/zip")
			b.ReportMetric(median(plain).Seconds()/median(ours).Seconds(), "×copy")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkRead4K reads 4 KiB anywhere in the package.
func BenchmarkRead4K(b *testing.B) {
	f, pieces := benchPack(b)
	runs := &dump.Runs{}
	runs.Append(f, 0, benchMembers*benchMember)
	p := must(dump.NewPackage(benchIndex(b, pieces), runs))
	rng := rand.New(rand.NewPCG(1, 2))
	buf := make([]byte, 4<<10)
	b.ReportAllocs()
	for b.Loop() {
		must(p.ReadAt(buf, rng.Int64N(p.Size()-int64(len(buf)))))
	}
}

// BenchmarkIndex50000 makes the index of a package of 50,000 members, each in a
// run of its own, and reports the memory that it keeps.
func BenchmarkIndex50000(b *testing.B) {
	const n = 50_000
	content := model.Content{Length: benchMember, Stored: benchMember}
	places := [2]*bytes.Reader{bytes.NewReader(nil), bytes.NewReader(nil)}
	var path []byte
	make1 := func() *dump.Package {
		x := must(dump.NewIndex(dump.Version, n))
		runs := &dump.Runs{}
		for i := range n {
			path = append(path[:0], dump.ManifestName...)
			if i > 0 {
				path = dump.AppendResourcePath(path[:0], model.RecordNumber(i), "oai_dc.xml")
			}
			if err := x.Add(path, &content, march); err != nil {
				b.Fatal(err)
			}
			runs.Append(places[i%2], int64(i)*benchMember, benchMember)
		}
		return must(dump.NewPackage(x, runs))
	}
	b.ReportAllocs()
	for b.Loop() {
		make1()
	}
	before := heap()
	p := make1()
	b.ReportMetric(float64(heap()-before)/n, "kept-B/member")
	runtime.KeepAlive(p)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkOpen20000 is what a destination pays: the structures, and then all
// the content with its checksums.
func BenchmarkOpen20000(b *testing.B) {
	f, pieces := benchPack(b)
	runs := &dump.Runs{}
	runs.Append(f, 0, benchMembers*benchMember)
	p := must(dump.NewPackage(benchIndex(b, pieces), runs))
	whole := bytesOf(b, p)
	b.Run("structure", func(b *testing.B) {
		for b.Loop() {
			must(dump.Open(bytes.NewReader(whole), int64(len(whole)), dump.Limits{}))
		}
	})
	b.Run("content", func(b *testing.B) {
		r := must(dump.Open(bytes.NewReader(whole), int64(len(whole)), dump.Limits{}))
		b.SetBytes(p.Size())
		for b.Loop() {
			for i := range r.Members() {
				if err := read(&r.Members()[i]); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
