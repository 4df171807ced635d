package dump_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"gateway/dump"
	"gateway/model"
)

var genPieces = rapid.Custom(func(t *rapid.T) []piece {
	content := rapid.SliceOfN(rapid.Byte(), 0, 300)
	at := rapid.OneOf(rapid.Int64Range(0, 5e15), rapid.Int64())
	pieces := []piece{newPiece(dump.ManifestName, content.Draw(t, "manifest"), true, march)}
	for i := range rapid.IntRange(0, 30).Draw(t, "members") {
		name := rapid.StringN(1, 40, 100).Filter(func(s string) bool { return !strings.ContainsAny(s, `/\`) }).Draw(t, "name")
		path := string(dump.AppendResourcePath(nil, model.RecordNumber(i), name))
		pieces = append(pieces, newPiece(path, content.Draw(t, "content"),
			rapid.Bool().Draw(t, "deflated"), model.Time(at.Draw(t, "time"))))
	}
	return pieces
})

// TestPackageIsWhatOthersRead holds random packages against archive/zip and
// reads each of them in pieces.
func TestPackageIsWhatOthersRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pieces := genPieces.Draw(rt, "members")
		p := packageOf(t, pieces)
		whole := bytesOf(t, p)
		if int64(len(whole)) != p.Size() {
			rt.Fatalf("%d bytes, Size is %d", len(whole), p.Size())
		}
		checkZIP(rt, whole, pieces)
		for range 20 {
			from := rapid.IntRange(0, len(whole)).Draw(rt, "from")
			to := rapid.IntRange(from, len(whole)).Draw(rt, "to")
			checkRange(rt, p, whole, from, to)
		}
	})
}

func checkZIP(t rapid.TB, whole []byte, pieces []piece) {
	z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != len(pieces) {
		t.Fatalf("%d members, want %d", len(z.File), len(pieces))
	}
	for i, f := range z.File {
		want := pieces[i]
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || f.Name != want.path || !bytes.Equal(got, want.plain) {
			t.Fatalf("member %q has %q (%v), want %q with %q", f.Name, got, err, want.path, want.plain)
		}
		if f.Mode() != 0o644 || f.NonUTF8 || f.Comment != "" {
			t.Fatalf("member %q has mode %v", f.Name, f.Mode())
		}
		if want.time >= 0 && want.time < 2_147_483_648_000_000 && !f.Modified.Equal(want.time.Time().Truncate(time.Second)) {
			t.Fatalf("member %q is of %v, want %v", f.Name, f.Modified, want.time)
		}
	}
}

func checkRange(t rapid.TB, p *dump.Package, whole []byte, from, to int) {
	b := make([]byte, to-from)
	n, err := p.ReadAt(b, int64(from))
	if n != len(b) || err != nil && err != io.EOF || !bytes.Equal(b, whole[from:to]) {
		t.Fatalf("bytes %d–%d of %d: %d bytes, %v, equal: %v", from, to, len(whole), n, err, bytes.Equal(b[:n], whole[from:from+n]))
	}
	var out bytes.Buffer
	if k, err := p.WriteRange(&out, int64(from), int64(to-from)); err != nil || int(k) != to-from || !bytes.Equal(out.Bytes(), b) {
		t.Fatalf("writing bytes %d–%d: %d, %v", from, to, k, err)
	}
}

// many is a package of n members of about size bytes each.
func many(n, size int) []piece {
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []piece{newPiece(dump.ManifestName, bytes.Repeat([]byte("<url/>"), n), true, march)}
	for i := range n {
		plain := make([]byte, size/2+rng.IntN(size))
		for j := range plain {
			plain[j] = byte(rng.Uint32())
		}
		path := dump.AppendResourcePath(nil, model.RecordNumber(i+1), "oai_dc.xml")
		pieces = append(pieces, newPiece(string(path), plain, i%3 == 0, march+model.Time(i)))
	}
	return pieces
}

func TestRanges(t *testing.T) {
	pieces := many(3000, 400)
	p := packageOf(t, pieces)
	whole := bytesOf(t, p)
	t.Run("20,000 random ranges", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		b := make([]byte, len(whole))
		for range 20_000 {
			from := rng.IntN(len(whole))
			n := 1 + rng.IntN(min(len(whole)-from, 1<<rng.IntN(17)))
			if k, err := p.ReadAt(b[:n], int64(from)); k != n || err != nil {
				t.Fatalf("%d bytes at %d: %d, %v", n, from, k, err)
			}
			if !bytes.Equal(b[:n], whole[from:from+n]) {
				t.Fatalf("%d bytes at %d differ", n, from)
			}
		}
	})
	t.Run("every reader of testing/iotest", func(t *testing.T) {
		p := packageOf(t, some())
		if err := iotest.TestReader(io.NewSectionReader(p, 0, p.Size()), bytesOf(t, p)); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("many at a time", func(t *testing.T) {
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 5))
				b := make([]byte, 64<<10)
				for range 200 {
					from := rng.IntN(len(whole))
					n := min(len(b), len(whole)-from)
					if k, err := p.ReadAt(b[:n], int64(from)); k != n || err != nil || !bytes.Equal(b[:n], whole[from:from+n]) {
						t.Errorf("%d bytes at %d: %d, %v", n, from, k, err)
					}
				}
			})
		}
		wg.Wait()
	})
	t.Run("outside", func(t *testing.T) {
		b := make([]byte, 10)
		if n, err := p.ReadAt(b, p.Size()-3); n != 3 || err != io.EOF {
			t.Errorf("across the end: %d, %v", n, err)
		}
		if n, err := p.ReadAt(b, p.Size()); n != 0 || err != io.EOF {
			t.Errorf("at the end: %d, %v", n, err)
		}
		if n, err := p.ReadAt(b, -1); n != 0 || err == nil || err == io.EOF {
			t.Errorf("before the beginning: %d, %v", n, err)
		}
		if _, err := p.WriteRange(io.Discard, p.Size()-3, 4); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("writing across the end: %v", err)
		}
	})
}

// TestReadsOfContent counts reads: a window over members that lie together is
// one, and the directory needs none.
func TestReadsOfContent(t *testing.T) {
	pieces := many(2000, 400)
	x := indexOf(t, pieces)
	var pack []byte
	for _, p := range pieces {
		pack = append(pack, p.kept...)
	}
	in := &counting{ReaderAt: bytes.NewReader(pack)}
	runs := &dump.Runs{}
	at := int64(0)
	for _, p := range pieces {
		runs.Append(in, at, int64(len(p.kept)))
		at += int64(len(p.kept))
	}
	p := must(dump.NewPackage(x, runs))
	must(p.WriteRange(io.Discard, 0, p.Size()))
	if most := int(p.Size()>>20) + 1; in.reads > most {
		t.Errorf("%d reads of a pack for a package of %d bytes; want %d at most", in.reads, p.Size(), most)
	}
	in.reads = 0
	b := make([]byte, 1000)
	must(p.ReadAt(b, p.Size()-1000))
	if in.reads != 0 {
		t.Errorf("%d reads for the directory", in.reads)
	}
}

type counting struct {
	io.ReaderAt
	reads int
}

func (c *counting) ReadAt(b []byte, off int64) (int, error) {
	c.reads++
	return c.ReaderAt.ReadAt(b, off)
}

// cut is content that is not there from a byte on, whatever its size says.
type cut struct {
	dump.Content
	at  int64
	err error
}

func (c cut) ReadAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) <= c.at {
		return c.Content.ReadAt(b, off)
	}
	n := max(0, c.at-off)
	if n > 0 {
		must(c.Content.ReadAt(b[:n], off))
	}
	return int(n), c.err
}

func TestMissingContent(t *testing.T) {
	pieces := some()
	x := indexOf(t, pieces)
	var all []byte
	for _, p := range pieces {
		all = append(all, p.kept...)
	}
	content := &dump.Runs{}
	content.Append(bytes.NewReader(all), 0, int64(len(all)))
	broken := errors.New("broken disk")
	for _, c := range []struct{ err, want error }{{io.EOF, io.ErrUnexpectedEOF}, {nil, io.ErrUnexpectedEOF}, {broken, broken}} {
		for at := range int64(len(all)) {
			p := must(dump.NewPackage(x, cut{content, at, c.err}))
			var out bytes.Buffer
			if n, err := p.WriteRange(&out, 0, p.Size()); !errors.Is(err, c.want) || errors.Is(err, io.EOF) {
				t.Fatalf("content ends at %d of %d with %v: wrote %d, %v", at, len(all), c.err, n, err)
			}
			if _, err := io.Copy(&out, io.NewSectionReader(p, 0, p.Size())); !errors.Is(err, c.want) {
				t.Fatalf("content ends at %d of %d with %v: copied with %v", at, len(all), c.err, err)
			}
		}
	}
	t.Run("known before the first byte", func(t *testing.T) {
		short := &dump.Runs{}
		short.Append(bytes.NewReader(all), 0, int64(len(all))-1)
		if _, err := dump.NewPackage(x, short); err == nil {
			t.Error("content of another size than the index says makes a package")
		}
	})
	t.Run("a place shorter than its run", func(t *testing.T) {
		runs := &dump.Runs{}
		runs.Append(strings.NewReader("abc"), 1, 3)
		if n, err := runs.ReadAt(make([]byte, 3), 0); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d, %v", n, err)
		}
	})
}

func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := []*strings.Reader{strings.NewReader("abcdefghijklmnop"), strings.NewReader("ABCDEFGHIJKLMNOP")}
		runs := &dump.Runs{}
		want := ""
		for range rapid.IntRange(0, 10).Draw(t, "runs") {
			i := rapid.IntRange(0, 1).Draw(t, "place")
			at := rapid.IntRange(0, 15).Draw(t, "at")
			n := rapid.IntRange(0, 16-at).Draw(t, "length")
			runs.Append(places[i], int64(at), int64(n))
			want += []string{"abcdefghijklmnop", "ABCDEFGHIJKLMNOP"}[i][at : at+n]
		}
		if runs.Size() != int64(len(want)) {
			t.Fatalf("size %d, want %d", runs.Size(), len(want))
		}
		from := rapid.IntRange(0, len(want)).Draw(t, "from")
		b := make([]byte, rapid.IntRange(0, 20).Draw(t, "n"))
		n, err := runs.ReadAt(b, int64(from))
		if string(b[:n]) != want[from:min(from+len(b), len(want))] || n < len(b) && err != io.EOF || n == len(b) && err != nil {
			t.Fatalf("%q, %v at %d of %q", b[:n], err, from, want)
		}
	})
}

func TestIndexRefuses(t *testing.T) {
	fine := model.Content{Length: 3, Stored: 3}
	for _, c := range []struct {
		what, path string
		content    model.Content
	}{
		{"an absolute path", "/a", fine},
		{"a way up", "a/../b", fine},
		{"a backslash", `a\b`, fine},
		{"a folder", "a/", fine},
		{"a drive", "c:a", fine},
		{"a path too long", strings.Repeat("a", 513), fine},
		{"two lengths of one content", "a", model.Content{Length: 3, Stored: 4}},
		{"an unknown length", "a", model.Content{Length: -1, Stored: -1}},
	} {
		x := indexOf(t, some())
		size, digest := x.Size(), x.Digest()
		if err := x.Add([]byte(c.path), &c.content, 0); err == nil {
			t.Errorf("%s is taken", c.what)
		}
		if x.Size() != size || x.Digest() != digest {
			t.Errorf("%s changed the index", c.what)
		}
	}
	t.Run("RS-RDM-01 manifest.xml first, at the top", func(t *testing.T) {
		x := must(dump.NewIndex(dump.Version, 0))
		if err := x.Add([]byte("a"), &fine, 0); err == nil {
			t.Error("a package begins without manifest.xml")
		}
		if _, err := dump.NewPackage(x, &dump.Runs{}); err == nil {
			t.Error("there is a package without members")
		}
	})
	if _, err := dump.NewIndex(2, 0); err == nil {
		t.Error("there is an arrangement 2")
	}
}

// TestDigest changes everything that the bytes depend on, one at a time.
func TestDigest(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, c := range []struct {
		what   string
		change func(p *piece)
	}{
		{"nothing", func(*piece) {}},
		{"path", func(p *piece) { p.path += "x" }},
		{"time", func(p *piece) { p.time += 2_000_000 }},
		{"length", func(p *piece) { p.content.Length++ }},
		{"stored", func(p *piece) { p.content.Stored++ }},
		{"crc", func(p *piece) { p.content.CRC32++ }},
		{"bytes", func(p *piece) { p.content.SHA256[0]++ }},
	} {
		pieces := some()
		c.change(&pieces[1])
		d := indexOf(t, pieces).Digest()
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", c.what, other)
		}
		seen[d] = c.what
		if again := indexOf(t, pieces).Digest(); again != d {
			t.Errorf("%s: two digests of one index", c.what)
		}
	}
}
