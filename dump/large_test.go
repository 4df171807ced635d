package dump_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gateway/dump"
	"gateway/model"
)

// hugeSize is above what 32 bits can say.
const hugeSize = 5 << 30

// hugePackage has a member of 5 GiB of zeros between small ones, so that sizes
// and offsets need ZIP64.
func hugePackage(t testing.TB) (*dump.Index, *dump.Package) {
	small := newPiece("resources/2/after.txt", []byte("after\n"), true, march)
	manifest := newPiece(dump.ManifestName, []byte("<urlset/>\n"), false, march)
	huge := model.Content{Length: hugeSize, Stored: hugeSize, CRC32: crcOfZeros(hugeSize)}
	x := must(dump.NewIndex(dump.Version, 3))
	for _, err := range []error{
		x.Add([]byte(manifest.path), &manifest.content, march),
		x.Add([]byte("resources/1/zeros"), &huge, march),
		x.Add([]byte(small.path), &small.content, march),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	runs := &dump.Runs{}
	runs.Append(bytes.NewReader(manifest.kept), 0, manifest.content.Stored)
	runs.Append(zeros(hugeSize), 0, hugeSize)
	runs.Append(bytes.NewReader(small.kept), 0, small.content.Stored)
	return x, must(dump.NewPackage(x, runs))
}

// crcOfZeros is the CRC-32 of n zeros, n a multiple of 1 MiB.
func crcOfZeros(n int) uint32 {
	block := make([]byte, 1<<20)
	crc := uint32(0)
	for range n / len(block) {
		crc = crc32.Update(crc, crc32.IEEETable, block)
	}
	return crc
}

func TestHugePackage(t *testing.T) {
	x, p := hugePackage(t)
	if p.Size() < hugeSize {
		t.Fatalf("size %d", p.Size())
	}
	z, err := zip.NewReader(p, p.Size())
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 3 || z.File[1].UncompressedSize64 != hugeSize {
		t.Fatalf("%d members, the second of %d bytes", len(z.File), z.File[1].UncompressedSize64)
	}
	after := must(io.ReadAll(must(z.Open("resources/2/after.txt"))))
	if string(after) != "after\n" {
		t.Errorf("after 5 GiB comes %q", after)
	}
	r := must(dump.Open(p, p.Size(), dump.Limits{}))
	if got := string(must(io.ReadAll(r.Member("resources/2/after.txt").Open(noSums)))); got != "after\n" {
		t.Errorf("after 5 GiB comes %q", got)
	}
	t.Run("the bytes around it as they were", func(t *testing.T) {
		around := make([]byte, 300)
		must(p.ReadAt(around, 0))
		tail := make([]byte, p.Size()-hugeSize-200)
		must(p.ReadAt(tail, hugeSize+200))
		sum := sha256.Sum256(append(around, tail...))
		digest := x.Digest()
		line := strings.Join([]string{"around-5-gib", "-", hex.EncodeToString(sum[:]), hex.EncodeToString(digest[:])}, " ")
		if !slices.Contains(readDigests(t), line) {
			t.Errorf("another digest than it had: %s", line)
		}
	})
	t.Run("other tools find what comes after", func(t *testing.T) {
		file := sparse(t, p)
		tool(t, "unzip", "-t", file, "resources/2/after.txt", dump.ManifestName)
		tool(t, "7z", "t", file, "resources/2/after.txt", dump.ManifestName)
		tool(t, "python3", "-c", `import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.getinfo("resources/1/zeros").file_size == 5 << 30
assert z.read("resources/2/after.txt") == b"after\n"`, file)
	})
}

// TestSoakHugePackage has every tool read all of 5 GiB.
func TestSoakHugePackage(t *testing.T) {
	if os.Getenv("GATEWAY_SOAK") == "" {
		t.Skip("reads 5 GiB several times; GATEWAY_SOAK=1 does it")
	}
	_, p := hugePackage(t)
	checkWithTools(t, sparse(t, p))
	r := must(dump.Open(p, p.Size(), dump.Limits{}))
	if _, err := io.Copy(io.Discard, r.Member("resources/1/zeros").Open(noSums)); err != nil {
		t.Error(err)
	}
}

// sparse writes a package to a file, without the zeros.
func sparse(t testing.TB, p *dump.Package) string {
	file := filepath.Join(t.TempDir(), "huge.zip")
	f := must(os.Create(file))
	defer f.Close()
	if err := f.Truncate(p.Size()); err != nil {
		t.Fatal(err)
	}
	const edge = 4096
	b := make([]byte, edge)
	for _, at := range []int64{0, p.Size() - edge} {
		must(p.ReadAt(b, at))
		must(f.WriteAt(b, at))
	}
	return file
}

// TestManyMembers has more members than 16 bits can count.
func TestManyMembers(t *testing.T) {
	for _, n := range []int{65_534, 65_535, 70_000} {
		pieces := make([]piece, n)
		pieces[0] = newPiece(dump.ManifestName, []byte("<urlset/>\n"), false, march)
		for i := 1; i < n; i++ {
			path := string(dump.AppendResourcePath(nil, model.RecordNumber(i), "n.txt"))
			pieces[i] = newPiece(path, []byte{byte(i), byte(i >> 8)}, false, march)
		}
		p := packageOf(t, pieces)
		whole := bytesOf(t, p)
		z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
		if err != nil || len(z.File) != n {
			t.Fatalf("%d members: %v", n, err)
		}
		if r, err := dump.Open(p, p.Size(), dump.Limits{}); err != nil || len(r.Members()) != n {
			t.Fatalf("%d members: %v", n, err)
		}
		if n < 70_000 {
			continue
		}
		if line := digestLine("70000-members", whole, indexOf(t, pieces)); !slices.Contains(readDigests(t), line) {
			t.Errorf("another digest than it had: %s", line)
		}
		file := filepath.Join(t.TempDir(), "many.zip")
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		checkWithTools(t, file)
	}
}
