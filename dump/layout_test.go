package dump_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gateway/dump"
	"gateway/model"
)

// The files of testdata/layout1 hold what a package of arrangement 1 is, for
// ever: NAME.members describes members with their kept bytes, NAME.zip is the
// package, and digests has the SHA-256 of each package with the digest of its
// index. -add-layout makes files that are not there; it replaces none.
var addLayout = flag.Bool("add-layout", false, "write packages that testdata/layout1 does not have yet")

const layoutDir = "testdata/layout1"

// layoutPackages are the small ones, by name.
func layoutPackages() map[string][]piece {
	at := func(s string) model.Time { return model.TimeOf(must(parseTime(s))) }
	manifest := newPiece(dump.ManifestName, []byte("<urlset/>\n"), false, march)
	change := func(pos model.Position, name, body string, deflated bool) piece {
		return newPiece(string(dump.AppendChangePath(nil, pos, name)), []byte(body), deflated, march+model.Time(pos))
	}
	return map[string][]piece{
		"manifest-only": {manifest},
		"resources":     some(),
		"changes": {
			newPiece(dump.ManifestName, bytes.Repeat([]byte("<url/>\n"), 100), true, march),
			change(1, "oai_dc.xml", "<dc>one</dc>", true),
			change(1, "Scan 1.TIFF", "II*\x00", false),
			change(3, "oai_dc.xml", "<dc>two</dc>", false),
			change(4, "con.xml", strings.Repeat("ab", 300), true),
			change(5, strings.Repeat("long name ", 25), "x", false),
		},
		"times": {
			manifest,
			newPiece("negative", nil, false, -1),
			newPiece("1970", nil, false, 0),
			newPiece("1979", nil, false, at("1979-12-31T23:59:59.999999Z")),
			newPiece("1980", nil, false, at("1980-01-01T00:00:00Z")),
			newPiece("odd-second", nil, false, at("2026-11-21T12:34:57.5Z")),
			newPiece("2038-last", nil, false, at("2038-01-19T03:14:07.999999Z")),
			newPiece("2038-first", nil, false, at("2038-01-19T03:14:08Z")),
			newPiece("2107", nil, false, at("2107-12-31T23:59:59Z")),
			newPiece("2108", nil, false, at("2108-01-01T00:00:00Z")),
			newPiece("9999", nil, false, at("9999-12-31T23:59:59Z")),
		},
	}
}

func TestLayout1(t *testing.T) {
	digests := readDigests(t)
	if *addLayout {
		addLayouts(t, digests)
	}
	files, err := filepath.Glob(layoutDir + "/*.members")
	if err != nil || len(files) < len(layoutPackages()) {
		t.Fatalf("%d packages in %s: %v", len(files), layoutDir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".members")
		t.Run(name, func(t *testing.T) {
			pieces := readMembers(t, file)
			p := packageOf(t, pieces)
			got := bytesOf(t, p)
			want := must(os.ReadFile(strings.TrimSuffix(file, ".members") + ".zip"))
			if !bytes.Equal(got, want) {
				t.Error("the package has other bytes than it had")
			}
			if line := digestLine(name, got, indexOf(t, pieces)); !slices.Contains(digests, line) {
				t.Errorf("another digest than it had: %s", line)
			}
		})
	}
	t.Run("described as made", func(t *testing.T) {
		for name, pieces := range layoutPackages() {
			read := readMembers(t, filepath.Join(layoutDir, name+".members"))
			for i := range pieces {
				// Another compressor may deflate otherwise; the files keep what it was.
				if read[i].path != pieces[i].path || read[i].time != pieces[i].time || !bytes.Equal(read[i].plain, pieces[i].plain) {
					t.Errorf("%s: member %d is %+v, want %+v", name, i, read[i], pieces[i])
				}
			}
		}
	})
}

func digestLine(name string, whole []byte, x *dump.Index) string {
	return fmt.Sprintf("%s %d %x %x", name, len(whole), sha256.Sum256(whole), x.Digest())
}

func readDigests(t *testing.T) []string {
	b, err := os.ReadFile(filepath.Join(layoutDir, "digests"))
	if err != nil && !*addLayout {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func addLayouts(t *testing.T, digests []string) {
	for name, pieces := range layoutPackages() {
		file := filepath.Join(layoutDir, name)
		if _, err := os.Stat(file + ".zip"); err == nil {
			continue
		}
		whole := bytesOf(t, packageOf(t, pieces))
		var members strings.Builder
		for _, p := range pieces {
			kept := base64.StdEncoding.EncodeToString(p.kept)
			fmt.Fprintf(&members, "%q %d %d %08x %x %t %q\n", p.path, p.time, p.content.Length, p.content.CRC32, p.content.SHA256, p.content.Deflated, kept)
		}
		writeNew(t, file+".members", []byte(members.String()))
		writeNew(t, file+".zip", whole)
		digests = append(digests, digestLine(name, whole, indexOf(t, pieces)))
	}
	slices.Sort(digests)
	all := strings.TrimSpace(strings.Join(digests, "\n")) + "\n"
	if err := os.WriteFile(filepath.Join(layoutDir, "digests"), []byte(all), 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeNew(t *testing.T, file string, b []byte) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// readMembers reads a description: on each line path, time in microseconds,
// length, CRC-32, SHA-256, whether deflated, and the kept bytes in base64.
func readMembers(t *testing.T, file string) []piece {
	var pieces []piece
	for line := range strings.Lines(string(must(os.ReadFile(file)))) {
		var p piece
		var sum []byte
		var kept string
		c := &p.content
		if _, err := fmt.Sscanf(line, "%q %d %d %x %x %t %q\n", &p.path, &p.time, &c.Length, &c.CRC32, &sum, &c.Deflated, &kept); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		c.SHA256 = [32]byte(sum)
		p.kept = must(base64.StdEncoding.DecodeString(kept))
		c.Stored = int64(len(p.kept))
		p.plain = p.kept
		if c.Deflated {
			p.plain = inflate(p.kept)
		}
		if crc32.ChecksumIEEE(p.plain) != c.CRC32 || sha256.Sum256(p.plain) != c.SHA256 {
			t.Fatalf("%s: %s has other bytes than sums", file, p.path)
		}
		pieces = append(pieces, p)
	}
	return pieces
}
