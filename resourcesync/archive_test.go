package resourcesync_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gateway/dump"
	"gateway/resourcesync"
	"gateway/sitemap"
	"gateway/sitemap/sitemaptest"
)

// archive is a package as a stranger unpacked it.
type archive struct {
	path     string
	bytes    []byte
	manifest *sitemaptest.Document
	members  map[string][]byte // without the manifest
}

// archive gets the package that an entry names, and checks all that holds for
// every package. One that was had before is not fetched again.
func (w *world) archive(e *sitemaptest.Entry) *archive {
	w.t.Helper()
	path := strings.TrimPrefix(e.URI(), base)
	if a := w.archives[path]; a != nil {
		return a
	}
	answer := w.ask(http.MethodGet, path)
	b := answer.Body.Bytes()
	if h := answer.Header(); answer.Code != http.StatusOK || h.Get("Content-Type") != "application/zip" || h.Get("Content-Length") != strconv.Itoa(len(b)) {
		w.t.Fatalf("GET %s: %d %v, %d bytes", path, answer.Code, h, len(b))
	}
	if about := e.About(); about.Type != "application/zip" || about.Length != strconv.Itoa(len(b)) {
		w.t.Errorf("%s of %d bytes is listed as %+v", path, len(b), about)
	}
	a := unpack(w.t, b)
	a.path = path
	if separate := w.get(strings.TrimPrefix(e.Link("contents"), base)); !bytes.Equal(separate, a.members[dump.ManifestName]) {
		w.t.Errorf("the manifest of %s is\n%s\nand on its own\n%s", path, a.members[dump.ManifestName], separate)
	}
	delete(a.members, dump.ManifestName)
	w.archives[path] = a
	return a
}

// unpack unpacks a package by archive/zip, and holds the strict reader against
// that.
func unpack(t testing.TB, b []byte) *archive {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{bytes: b, members: map[string][]byte{}}
	for i, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if (i == 0) != (f.Name == dump.ManifestName) {
			t.Errorf("member %d is %s", i, f.Name)
		}
		a.members[f.Name] = body
	}
	if a.manifest, err = sitemaptest.Parse(a.members[dump.ManifestName]); err != nil {
		t.Fatal(err)
	}
	for i := range a.manifest.URLs {
		about := a.manifest.URLs[i].About()
		body, there := a.members[strings.TrimPrefix(about.Path, "/")]
		if about.Change == "deleted" {
			if about.Path != "" {
				t.Errorf("a deletion has the path %s", about.Path)
			}
			continue
		}
		sum := sha256.Sum256(body)
		if !there || !strings.HasPrefix(about.Path, "/") || about.Length != strconv.Itoa(len(body)) || !strings.HasSuffix(about.Hash, "sha-256:"+hex.EncodeToString(sum[:])) {
			t.Errorf("member %q of %d bytes, there %v: %+v", about.Path, len(body), there, about)
		}
	}
	r, err := dump.Open(bytes.NewReader(b), int64(len(b)), dump.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	visited := 0
	err = r.Verify(t.Context(), a.listed(), func(l dump.Listed, content io.Reader) error {
		visited++
		body, err := io.ReadAll(content)
		if !bytes.Equal(body, a.members[l.Path[1:]]) {
			t.Errorf("%s is %q for the one and %q for the other", l.Path, body, a.members[l.Path[1:]])
		}
		return err
	})
	if err != nil || visited != len(z.File)-1 {
		t.Errorf("%d members of %d, %v", visited, len(z.File)-1, err)
	}
	return a
}

// listed are the entries of the manifest that have content.
func (a *archive) listed() iter.Seq2[dump.Listed, error] {
	return func(yield func(dump.Listed, error) bool) {
		for i := range a.manifest.URLs {
			about := a.manifest.URLs[i].About()
			if about.Path == "" {
				continue
			}
			length, err := strconv.ParseInt(about.Length, 10, 64)
			l := dump.Listed{Path: about.Path, Sums: sitemap.Sums{Length: &length}}
			for _, h := range strings.Fields(about.Hash) {
				if digits, ok := strings.CutPrefix(h, "sha-256:"); ok && err == nil {
					l.Sums.SHA256 = new([32]byte)
					_, err = hex.Decode(l.Sums.SHA256[:], []byte(digits))
				}
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// packagesOf are the packages that the dump at path names, or the parts of its
// index.
func (w *world) packagesOf(path, capability string) []*archive {
	w.t.Helper()
	d := w.parse(path)
	if d.MD[0].Capability != capability {
		w.t.Fatalf("%s: %+v", path, d.MD[0])
	}
	var all []*archive
	if d.Index() {
		for i := range d.Parts {
			all = append(all, w.packagesOf(strings.TrimPrefix(d.Parts[i].URI(), base), capability)...)
		}
		return all
	}
	for i := range d.URLs {
		a := w.archive(&d.URLs[i])
		if about, own := d.URLs[i].About(), a.manifest.MD[0]; about.At != own.At || about.From != own.From || about.Until != own.Until || own.Capability != capability+"-manifest" {
			w.t.Errorf("%s says %+v, its dump %+v", a.path, own, about)
		}
		all = append(all, a)
	}
	return all
}

// dumped is the set that the newest Resource Dump holds, and its at.
func (w *world) dumped() (copyOfSet, string) {
	w.t.Helper()
	set := copyOfSet{}
	for _, a := range w.packagesOf(resourcesync.ResourceDumpPath(w.Set.Name), "resourcedump") {
		for i := range a.manifest.URLs {
			e := &a.manifest.URLs[i]
			if _, twice := set[e.URI()]; twice {
				w.t.Errorf("%s is in the dump twice", e.URI())
			}
			set[e.URI()] = resourceOf(e)
		}
	}
	return set, w.parse(resourcesync.ResourceDumpPath(w.Set.Name)).MD[0].At
}

// checkDumps compares the Change Dump with the closed Change Lists, and with the
// model what a destination has that applies it from the beginning, and the open
// list after it.
func (w *world) checkDumps() {
	w.t.Helper()
	lists := w.changeLists()
	packages := w.packagesOf(resourcesync.ChangeDumpPath(w.Set.Name), "changedump")
	if len(packages) != len(lists)-1 {
		w.t.Fatalf("%d packages for %d closed lists", len(packages), len(lists)-1)
	}
	if from := w.parse(resourcesync.ChangeDumpPath(w.Set.Name)).MD[0]; from.From != lists[0].MD[0].From || from.Until != "" {
		w.t.Errorf("the change dump is of %+v, the lists of %+v", from, lists[0].MD[0])
	}
	all := copyOfSet{}
	for i, a := range packages {
		if got, want := a.manifest.MD[0], lists[i].MD[0]; got.From != want.From || got.Until != want.Until {
			w.t.Errorf("package %s of %+v, list of %+v", a.path, got, want)
		}
		if diff := cmp.Diff(bare(lists[i].URLs), bare(a.manifest.URLs)); diff != "" {
			w.t.Errorf("%s is not its list: -list +manifest\n%s", a.path, diff)
		}
		apply(w.t, all, a.manifest, "")
	}
	apply(w.t, all, lists[len(lists)-1], "")
	shown, _ := w.shown()
	if want := w.modelAt(shown); !maps.Equal(want, all) {
		w.t.Errorf("at (%d, %d) all change dumps, -model +fold\n%s", w.position, w.published, cmp.Diff(want, all))
	}
}

// bare describes entries without their paths.
func bare(entries []sitemaptest.Entry) []string {
	var lines []string
	for _, e := range entries {
		about := e.About()
		about.Path = ""
		lines = append(lines, fmt.Sprint(e.Loc, e.LastMod, about, e.Links))
	}
	return lines
}

// noSums asks for none of a manifest's sums.
var noSums sitemap.Sums

func inflate(b []byte) string {
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(b)))
	if err != nil {
		panic(err)
	}
	return string(plain)
}
