package dump_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"hash/crc32"
	"io"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"

	"gateway/dump"
	"gateway/model"
	"gateway/sitemap"
)

// piece is a member of a package under test, with its bytes.
type piece struct {
	path    string
	content model.Content
	plain   []byte // identity bytes
	kept    []byte
	time    model.Time
}

var march = model.TimeOf(time.Date(2026, 3, 3, 8, 0, 5, 250_000_000, time.UTC))

// newPiece keeps plain as it is, or deflated.
func newPiece(path string, plain []byte, deflated bool, t model.Time) piece {
	p := piece{path: path, plain: plain, kept: plain, time: t}
	if deflated {
		p.kept = deflate(plain)
	}
	p.content = model.Content{
		Length: int64(len(plain)), Stored: int64(len(p.kept)), Deflated: deflated,
		CRC32: crc32.ChecksumIEEE(plain), SHA256: sha256.Sum256(plain), MD5: md5.Sum(plain),
	}
	return p
}

func deflate(plain []byte) []byte {
	var b bytes.Buffer
	w := must(flate.NewWriter(&b, 6))
	must(w.Write(plain))
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func inflate(kept []byte) []byte {
	return must(io.ReadAll(flate.NewReader(bytes.NewReader(kept))))
}

func parseTime(s string) (time.Time, error) { return time.Parse(time.RFC3339Nano, s) }

// some are members of a small package: each kind of content, and a name that
// only UTF-8 can carry.
func some() []piece {
	return []piece{
		newPiece(dump.ManifestName, []byte("<urlset/>\n"), true, march),
		newPiece("resources/1/oai_dc.xml", bytes.Repeat([]byte("<dc:title>Rivers</dc:title>\n"), 40), true, march-1),
		newPiece("resources/1/empty", nil, false, 0),
		newPiece("resources/2/empty-deflated", nil, true, march),
		newPiece("resources/12/thesis.pdf", []byte("%PDF-1.7\n\x00\xff"), false, march+1_000_000),
		newPiece("Flüsse/Elbe und Weser.txt", []byte("Elbe\n"), false, march),
	}
}

func indexOf(t testing.TB, pieces []piece) *dump.Index {
	t.Helper()
	x := must(dump.NewIndex(dump.Version, len(pieces)))
	for i := range pieces {
		if err := x.Add([]byte(pieces[i].path), &pieces[i].content, pieces[i].time); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// packageOf has the contents of pieces, all but the manifest, in one place.
func packageOf(t testing.TB, pieces []piece) *dump.Package {
	t.Helper()
	var pack []byte
	for _, p := range pieces[1:] {
		pack = append(pack, p.kept...)
	}
	runs := &dump.Runs{}
	runs.Append(bytes.NewReader(pieces[0].kept), 0, int64(len(pieces[0].kept)))
	in := bytes.NewReader(append([]byte("pack"), pack...))
	at := int64(4)
	for _, p := range pieces[1:] {
		runs.Append(in, at, int64(len(p.kept)))
		at += int64(len(p.kept))
	}
	return must(dump.NewPackage(indexOf(t, pieces), runs))
}

// bytesOf is the whole package.
func bytesOf(t testing.TB, p *dump.Package) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := p.WriteRange(&b, 0, p.Size()); err != nil || n != p.Size() {
		t.Fatalf("wrote %d bytes of %d: %v", n, p.Size(), err)
	}
	return b.Bytes()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noSums asks for none of a manifest's sums.
var noSums sitemap.Sums

// zeros is content that takes no room.
type zeros int64

func (z zeros) Size() int64 { return int64(z) }

func (z zeros) ReadAt(b []byte, off int64) (int, error) {
	n := int(max(0, min(int64(len(b)), int64(z)-off)))
	clear(b[:n])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
