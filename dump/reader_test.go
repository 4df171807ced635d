package dump_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gateway/dump"
	"gateway/sitemap"
)

// entry is a member of an archive as a hostile tool would write it: the header
// is what it says, the data are what it has.
type entry struct {
	zip.FileHeader
	data []byte
}

func plainEntry(name, body string) entry {
	return entry{data: []byte(body), FileHeader: zip.FileHeader{
		Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(body)),
		CompressedSize64: uint64(len(body)), UncompressedSize64: uint64(len(body)),
	}}
}

func deflatedEntry(name string, body []byte) entry {
	e := plainEntry(name, string(body))
	e.Method, e.data = zip.Deflate, deflate(body)
	e.CompressedSize64 = uint64(len(e.data))
	return e
}

func archive(entries ...entry) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		must(must(w.CreateRaw(&e.FileHeader)).Write(e.data))
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

var manifestEntry = plainEntry(dump.ManifestName, "<urlset/>")

// open opens an archive and reads all of it.
func open(b []byte, limits dump.Limits) error {
	r, err := dump.Open(bytes.NewReader(b), int64(len(b)), limits)
	if err != nil {
		return err
	}
	for i := range r.Members() {
		if err := read(&r.Members()[i]); err != nil {
			return err
		}
	}
	return nil
}

func read(m *dump.Member) error {
	content := m.Open(noSums)
	defer content.Close()
	n, err := io.Copy(io.Discard, content)
	if err == nil && n != m.Length {
		return fmt.Errorf("read %d bytes of %d without an error", n, m.Length)
	}
	return err
}

// wantRefusal fails unless err is a refusal of member for a reason with the
// words.
func wantRefusal(t *testing.T, err error, member, words string) {
	t.Helper()
	var refusal *dump.Refusal
	if !errors.As(err, &refusal) || refusal.Member != member || !strings.Contains(refusal.Reason, words) {
		t.Errorf("got %v, want %q refused: … %s …", err, member, words)
	}
}

func TestHostileNames(t *testing.T) {
	t.Run("RS-RDM-05 paths that lead out", func(t *testing.T) {
		for name, words := range map[string]string{
			"/etc/passwd":                  "absolute",
			"../up":                        "part ..",
			"a/../../up":                   "part ..",
			"a/./b":                        "part .",
			"a//b":                         "empty part",
			`a\b`:                          "backslash",
			`..\up`:                        "backslash",
			"C:evil":                       "drive letter",
			"c:/evil":                      "drive letter",
			"a\x00b":                       "control character",
			"a\nb":                         "control character",
			"a\xffb":                       "not UTF-8",
			strings.Repeat("a/", 16) + "a": "17 parts",
			strings.Repeat("a", 1025):      "1025 bytes",
		} {
			wantRefusal(t, open(archive(manifestEntry, plainEntry(name, "x")), dump.Limits{}), name, words)
		}
		wantRefusal(t, open(archive(manifestEntry, plainEntry("../", "")), dump.Limits{}), "..", "part ..")
		wantRefusal(t, open(archive(manifestEntry, plainEntry("", "x")), dump.Limits{}), "", "empty")
		wantRefusal(t, open(archive(manifestEntry, plainEntry("/", "")), dump.Limits{}), "", "empty")
	})
	t.Run("RS-RDM-05 names that meet", func(t *testing.T) {
		for _, c := range []struct{ first, second, words string }{
			{"a", "a", "two of that name"},
			{"a", "A", "two of that name"},
			{"Flüsse", "FLÜSSE", "two of that name"},
			{"σ", "ς", "two of that name"},
			{"k", "\u212a", "two of that name"},
			{"MANIFEST.xml", "x", "two of that name"},
			{"a", "a/b", "is a file"},
			{"a", "A/b/c", "is a file"},
			{"a/b", "a", "file and a folder"},
			{"a", "a/", "file and a folder"},
			{"a/", "a/", "two of that name"},
		} {
			body := "x"
			if strings.HasSuffix(c.second, "/") {
				body = ""
			}
			first := plainEntry(c.first, "x")
			if strings.HasSuffix(c.first, "/") {
				first = plainEntry(c.first, "")
			}
			err := open(archive(manifestEntry, first, plainEntry(c.second, body)), dump.Limits{})
			var refusal *dump.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, c.words) {
				t.Errorf("%s and %s: %v", c.first, c.second, err)
			}
		}
	})
	t.Run("a second name", func(t *testing.T) {
		e := plainEntry("good", "x")
		field := binary.LittleEndian.AppendUint32([]byte{1}, crc32.ChecksumIEEE([]byte("good")))
		field = append(field, "../bad"...)
		e.Extra = append([]byte{0x75, 0x70, byte(len(field)), 0}, field...)
		wantRefusal(t, open(archive(manifestEntry, e), dump.Limits{}), "good", "second name")
		field = append(field[:5], "good"...)
		e.Extra = append([]byte{0x75, 0x70, byte(len(field)), 0}, field...)
		if err := open(archive(manifestEntry, e), dump.Limits{}); err != nil {
			t.Errorf("the same name twice: %v", err)
		}
	})
}

func TestHostileMembers(t *testing.T) {
	for _, c := range []struct {
		what, words string
		change      func(*entry)
	}{
		{"encrypted", "encrypted", func(e *entry) { e.Flags |= 1 }},
		{"strongly encrypted", "encrypted", func(e *entry) { e.Flags |= 1 << 6 }},
		{"masked", "encrypted", func(e *entry) { e.Flags |= 1 << 13 }},
		{"patched", "not supported", func(e *entry) { e.Flags |= 1 << 5 }},
		{"bzip2", "not supported", func(e *entry) { e.Method = 12 }},
		{"AES", "not supported", func(e *entry) { e.Method = 99 }},
		{"a symlink", "not a plain file", func(e *entry) { e.SetMode(fs.ModeSymlink | 0o777) }},
		{"a device", "not a plain file", func(e *entry) { e.SetMode(fs.ModeDevice | 0o666) }},
		{"a pipe", "not a plain file", func(e *entry) { e.SetMode(fs.ModeNamedPipe | 0o666) }},
		{"a folder by its mode", "not a plain file", func(e *entry) { e.SetMode(fs.ModeDir | 0o777) }},
		{"setuid", "special mode", func(e *entry) { e.SetMode(fs.ModeSetuid | 0o755) }},
		{"a wrong CRC", "CRC-32", func(e *entry) { e.CRC32++ }},
		{"two lengths", "two lengths", func(e *entry) { e.UncompressedSize64++ }},
		{"broken extra fields", "extra fields", func(e *entry) { e.Extra = []byte{1, 2, 9, 0, 0} }},
		{"a ZIP64 field for nothing", "ZIP64", func(e *entry) { e.Extra = []byte{1, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0} }},
	} {
		t.Run(c.what, func(t *testing.T) {
			e := plainEntry("file", "contents")
			c.change(&e)
			wantRefusal(t, open(archive(manifestEntry, e), dump.Limits{}), "file", c.words)
		})
	}
	for _, c := range []struct {
		what, words string
		change      func(*entry)
	}{
		{"unpacks to more", "more than the", func(e *entry) { e.UncompressedSize64-- }},
		{"unpacks to nothing said", "more than the 0", func(e *entry) { e.UncompressedSize64 = 0 }},
		{"unpacks to less", "fewer than it says", func(e *entry) { e.UncompressedSize64++ }},
		{"broken data", "broken", func(e *entry) { e.data[0] = 0xff }},
		{"cut data", "broken", func(e *entry) { e.data = e.data[:len(e.data)-1]; e.CompressedSize64-- }},
		{"more after the data", "follows its compressed data", func(e *entry) { e.data = append(e.data, 0); e.CompressedSize64++ }},
		{"a wrong CRC", "CRC-32", func(e *entry) { e.CRC32++ }},
	} {
		t.Run("deflated: "+c.what, func(t *testing.T) {
			e := deflatedEntry("file", []byte(strings.Repeat("contents", 100)))
			c.change(&e)
			wantRefusal(t, open(archive(manifestEntry, e), dump.Limits{}), "file", c.words)
		})
	}
	t.Run("a folder with content", func(t *testing.T) {
		b := archive(manifestEntry, plainEntry("folder_", "hidden"))
		b = bytes.ReplaceAll(b, []byte("folder_"), []byte("folder/"))
		wantRefusal(t, open(b, dump.Limits{}), "folder", "folder with content")
	})
}

func TestLimits(t *testing.T) {
	zeros := deflatedEntry("zeros", make([]byte, 3<<20))
	for _, c := range []struct {
		what, member, words string
		limits              dump.Limits
		entries             []entry
	}{
		{"members", "", "3 members; at most 2", dump.Limits{Members: 2}, []entry{plainEntry("a", ""), plainEntry("b", "")}},
		{"size", "a", "unpacks to 5 bytes; at most 4", dump.Limits{Size: 4}, []entry{plainEntry("a", "12345")}},
		{"total", "", "more than 17 bytes", dump.Limits{Total: 17}, []entry{plainEntry("a", "12345"), plainEntry("b", "1234")}},
		{"ratio", "zeros", "at most 200 times", dump.Limits{}, []entry{zeros}},
		{"path", "abcde", "5 bytes; at most 4", dump.Limits{Path: 4}, []entry{plainEntry("abcde", "")}},
		{"depth", "a/b/c", "3 parts; at most 2", dump.Limits{Depth: 2}, []entry{plainEntry("a/b/c", "")}},
	} {
		t.Run(c.what, func(t *testing.T) {
			manifest := manifestEntry
			if c.what == "path" || c.what == "size" {
				manifest = plainEntry(dump.ManifestName, "")
			}
			entries := append(c.entries, manifest) // last, so that it is not what breaks the limit
			wantRefusal(t, open(archive(entries...), c.limits), c.member, c.words)
		})
	}
	if err := open(archive(manifestEntry, zeros), dump.Limits{Ratio: 2000}); err != nil {
		t.Errorf("within the limits: %v", err)
	}
}

// TestBombs are archives that unpack to far more than they have, by lying in one
// way or another. None may cost more than its bytes.
func TestBombs(t *testing.T) {
	t.Run("more members than bytes", func(t *testing.T) {
		b := archive(manifestEntry)
		end := b[len(b)-22:]
		binary.LittleEndian.PutUint16(end[8:], 60_000)
		binary.LittleEndian.PutUint16(end[10:], 60_000)
		wantRefusal(t, open(b, dump.Limits{}), "", "directory ends")
	})
	t.Run("members that share their data", func(t *testing.T) {
		// Fifield's: headers overlap, or one stands in another's data.
		b := archive(manifestEntry, plainEntry("a", "contents"), plainEntry("b", "contents"))
		at := bytes.LastIndex(b, []byte("PK\x01\x02"))
		first := binary.LittleEndian.Uint32(b[bytes.Index(b, []byte("PK\x01\x02"))+46+len(dump.ManifestName)+42:])
		binary.LittleEndian.PutUint32(b[at+42:], first)
		err := open(b, dump.Limits{})
		var refusal *dump.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a header within data", func(t *testing.T) {
		inner := archive(plainEntry("b", "contents"))
		outer := archive(manifestEntry, plainEntry("a", string(inner)), plainEntry("b", "contents"))
		central := bytes.LastIndex(outer, []byte("PK\x01\x02"))
		within := bytes.Index(outer, inner)
		binary.LittleEndian.PutUint32(outer[central+42:], uint32(within))
		err := open(outer, dump.Limits{})
		var refusal *dump.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a stream of 1 GiB that says 1 KiB", func(t *testing.T) {
		e := deflatedEntry("zeros", make([]byte, 1<<20))
		for range 10 { // doubles the data without their end: stored blocks are not needed to see the lie
			e.data = append(e.data, e.data...)
		}
		e.CompressedSize64, e.UncompressedSize64 = uint64(len(e.data)), 1024
		b := archive(manifestEntry, e)
		r := must(dump.Open(bytes.NewReader(b), int64(len(b)), dump.Limits{}))
		n, err := io.Copy(io.Discard, r.Member("zeros").Open(noSums))
		if n != 1024 {
			t.Errorf("yielded %d bytes", n)
		}
		wantRefusal(t, err, "zeros", "more than the 1024")
	})
}

func TestStructure(t *testing.T) {
	good := archive(manifestEntry, plainEntry("a", "contents"))
	descriptor := streamed(t)
	central := bytes.Index(good, []byte("PK\x01\x02"))
	end := len(good) - 22
	patch := func(b []byte, at int, with ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], with)
		return b
	}
	second := central + 46 + len(dump.ManifestName)
	for _, c := range []struct {
		what, member, words string
		b                   []byte
	}{
		{"nothing", "", "too few", nil},
		{"junk before", "", "directory does not end", append([]byte("#!/bin/sh\n"), good...)},
		{"junk after", "", "end record", append(bytes.Clone(good), 0)},
		{"a comment", "", "without comment", append(patch(good, end+20, 3), "abc"...)},
		{"a part of several", "", "several", patch(good, end+4, 1)},
		{"more members on all disks", "", "several", patch(good, end+10, 7)},
		{"a member less", "", "bytes after the last member", patch(patch(good, end+8, 1), end+10, 1)},
		{"no header in the directory", "", "no header", patch(good, second, 'X')},
		{"another disk", "a", "another disk", patch(good, second+34, 1)},
		{"no local header", "a", "no local header", patch(good, int(binary.LittleEndian.Uint32(good[second+42:])), 'X')},
		{"another name", "a", "disagrees", patch(good, 30+len(dump.ManifestName)+len("<urlset/>")+30, 'b')},
		{"another method", dump.ManifestName, "disagrees", patch(good, 8, 8)},
		{"another flag", dump.ManifestName, "disagrees", patch(good, 7, 8)},
		{"another CRC", dump.ManifestName, "disagrees", patch(good, 14, good[14]+1)},
		{"another length", dump.ManifestName, "disagrees", patch(good, 18, 1)},
		{"a gap", "a", "no local header", gap(good, false)},
		{"junk before that the directory knows of", "a", "begins at 3, where 0", gap(archive(plainEntry("a", "")), true)},
		{"a gap that belongs to a member", dump.ManifestName, "follow it", gap(good, true)},
		{"a descriptor that disagrees", "a", "disagrees", patch(descriptor, bytes.LastIndex(descriptor, []byte("PK\x07\x08"))+4, 1, 2, 3, 4)},
		{"a descriptor of another size", "folder/b", "data descriptor has 19", gap(descriptor, true)},
		{"no manifest", "", "no manifest.xml", archive(plainEntry("a", ""))},
		{"a manifest in a folder only", "", "no manifest.xml", archive(plainEntry("a/manifest.xml", ""))},
		{"a manifest in capitals", "", "no manifest.xml", archive(plainEntry("Manifest.xml", ""))},
	} {
		t.Run(c.what, func(t *testing.T) { wantRefusal(t, open(c.b, dump.Limits{}), c.member, c.words) })
	}
	t.Run("every cut", func(t *testing.T) {
		for n := range good {
			if open(good[:n], dump.Limits{}) == nil || open(good[n+1:], dump.Limits{}) == nil {
				t.Errorf("cut at %d is accepted", n)
			}
		}
	})
	t.Run("shorter than its size", func(t *testing.T) {
		_, err := dump.Open(bytes.NewReader(good[:30]), int64(len(good)), dump.Limits{})
		var refusal *dump.Refusal
		if !errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &refusal) {
			t.Errorf("got %v, want an error of reading", err)
		}
	})
}

// gap puts three bytes before the last member and, when moved, lets the
// directory know.
func gap(b []byte, moved bool) []byte {
	end := len(b) - 22
	central := int(binary.LittleEndian.Uint32(b[end+16:]))
	last := bytes.LastIndex(b[:end], []byte("PK\x01\x02"))
	at := int(binary.LittleEndian.Uint32(b[last+42:]))
	out := append(bytes.Clone(b[:at]), "gap"...)
	out = append(out, b[at:]...)
	binary.LittleEndian.PutUint32(out[end+3+16:], uint32(central+3))
	if moved {
		binary.LittleEndian.PutUint32(out[last+3+42:], uint32(at+3))
	}
	return out
}

// streamed is an archive with data descriptors and a folder, as archive/zip
// writes it.
func streamed(t testing.TB) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	must(must(w.Create(dump.ManifestName)).Write([]byte("<urlset/>")))
	must(w.Create("folder/"))
	must(must(w.Create("folder/b")).Write([]byte(strings.Repeat("contents", 100))))
	must(must(w.CreateHeader(&zip.FileHeader{Name: "a", Method: zip.Store})).Write([]byte("contents")))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestStrangersPackages reads what common tools write.
func TestStrangersPackages(t *testing.T) {
	t.Run("archive/zip", func(t *testing.T) {
		if err := open(streamed(t), dump.Limits{}); err != nil {
			t.Error(err)
		}
	})
	write := func(t *testing.T, script, program string) {
		need(t, program)
		dir := t.TempDir()
		for name, body := range map[string]string{
			dump.ManifestName: "<urlset/>", "resources/Flüsse.txt": strings.Repeat("Elbe\n", 99), "resources/empty": "",
		} {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run := exec.Command("sh", "-c", script)
		run.Dir = dir
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b := must(os.ReadFile(filepath.Join(dir, "p.zip")))
		if err := open(b, dump.Limits{}); err != nil {
			t.Error(err)
		}
		r := must(dump.Open(bytes.NewReader(b), int64(len(b)), dump.Limits{}))
		if len(r.Members()) != 3 || r.Member("resources/Flüsse.txt") == nil {
			t.Errorf("members %+v", r.Members())
		}
	}
	t.Run("7z", func(t *testing.T) { write(t, "7z a -tzip p.zip manifest.xml resources", "7z") })
	t.Run("zip", func(t *testing.T) { write(t, "zip -r p.zip manifest.xml resources", "zip") })
	t.Run("zip to a pipe", func(t *testing.T) { write(t, "zip -r - manifest.xml resources | cat > p.zip", "zip") })
	t.Run("python", func(t *testing.T) {
		write(t, "python3 -m zipfile -c p.zip manifest.xml resources", "python3")
	})
	t.Run("python with ZIP64 forced", func(t *testing.T) {
		write(t, `python3 -c '
import zipfile
with zipfile.ZipFile("p.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for name in ["manifest.xml", "resources/Flüsse.txt", "resources/empty"]:
        with z.open(name, "w", force_zip64=True) as f:
            f.write(open(name, "rb").read())'`, "python3")
	})
}

func listing(pieces []piece) []dump.Listed {
	var all []dump.Listed
	for i := range pieces[1:] {
		p := &pieces[i+1]
		all = append(all, dump.Listed{Path: "/" + p.path, Sums: sitemap.Sums{
			MD5: &p.content.MD5, SHA256: &p.content.SHA256, Length: &p.content.Length,
		}})
	}
	return all
}

func sequence(listed []dump.Listed) iter.Seq2[dump.Listed, error] {
	return func(yield func(dump.Listed, error) bool) {
		for _, l := range listed {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func TestVerify(t *testing.T) {
	pieces := some()
	p := packageOf(t, pieces)
	r := must(dump.Open(p, p.Size(), dump.Limits{}))
	verify := func(change func([]dump.Listed) []dump.Listed) error {
		return r.Verify(t.Context(), sequence(change(listing(pieces))), nil)
	}
	same := func(l []dump.Listed) []dump.Listed { return l }
	path := pieces[2].path
	t.Run("RS-RDM-06 the manifest is what the members are", func(t *testing.T) {
		if err := verify(same); err != nil {
			t.Error(err)
		}
		got := map[string]string{}
		err := r.Verify(t.Context(), sequence(listing(pieces)), func(l dump.Listed, content io.Reader) error {
			b, err := io.ReadAll(content)
			got[l.Path] = string(b)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		for _, p := range pieces[1:] {
			if got["/"+p.path] != string(p.plain) {
				t.Errorf("%s has %q", p.path, got["/"+p.path])
			}
		}
	})
	t.Run("RS-RDM-06 nothing unlisted", func(t *testing.T) {
		wantRefusal(t, verify(func(l []dump.Listed) []dump.Listed { return append(l[:1], l[2:]...) }), path, "does not list")
	})
	t.Run("RS-RDM-06 nothing missing", func(t *testing.T) {
		err := verify(func(l []dump.Listed) []dump.Listed { return append(l, dump.Listed{Path: "/resources/9/x"}) })
		wantRefusal(t, err, "resources/9/x", "not there")
	})
	t.Run("RS-RDM-06 length and hashes", func(t *testing.T) {
		wantRefusal(t, verify(func(l []dump.Listed) []dump.Listed { *l[1].Sums.Length++; return l }), path, "manifest says")
		*listing(pieces)[1].Sums.Length--
		wantRefusal(t, verify(func(l []dump.Listed) []dump.Listed { l[1].Sums.MD5 = new([16]byte); return l }), path, "MD5")
		wantRefusal(t, verify(func(l []dump.Listed) []dump.Listed { l[1].Sums.SHA256 = new([32]byte); return l }), path, "SHA-256")
	})
	t.Run("RS-RDM-03 a path begins with a slash", func(t *testing.T) {
		wantRefusal(t, verify(func(l []dump.Listed) []dump.Listed { l[1].Path = path; return l }), "", "slash")
	})
	t.Run("listed twice", func(t *testing.T) {
		wantRefusal(t, verify(func(l []dump.Listed) []dump.Listed { return append(l, l[1]) }), path, "twice")
	})
	t.Run("lists itself", func(t *testing.T) {
		err := verify(func(l []dump.Listed) []dump.Listed { return append(l, dump.Listed{Path: "/manifest.xml"}) })
		wantRefusal(t, err, "manifest.xml", "itself")
	})
	t.Run("what is left unread is checked", func(t *testing.T) {
		listed := listing(pieces)
		listed[1].Sums.SHA256 = new([32]byte)
		err := r.Verify(t.Context(), sequence(listed), func(dump.Listed, io.Reader) error { return nil })
		wantRefusal(t, err, path, "SHA-256")
	})
	t.Run("errors of others come through", func(t *testing.T) {
		broken := errors.New("broken")
		err := r.Verify(t.Context(), func(yield func(dump.Listed, error) bool) { yield(dump.Listed{}, broken) }, nil)
		if !errors.Is(err, broken) {
			t.Error(err)
		}
		err = r.Verify(t.Context(), sequence(listing(pieces)), func(dump.Listed, io.Reader) error { return broken })
		if !errors.Is(err, broken) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Verify(ctx, sequence(listing(pieces)), nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		content := r.Member(path).Open(noSums)
		content.Close()
		content.Close()
		if _, err := content.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
	})
}
