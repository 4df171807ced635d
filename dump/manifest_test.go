package dump_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gateway/dump"
	"gateway/model"
	"gateway/sitemap"
	"gateway/sitemap/sitemaptest"
)

var update = flag.Bool("update", false, "write the golden files of manifests")

var (
	t1 = []byte("2026-03-01T00:00:00.000000Z")
	t2 = []byte("2026-03-02T00:00:00.000000Z")
	up = []sitemap.Link{{Rel: "up", Href: []byte("https://example.org/rs/rivers/capabilitylist.xml")}}
)

// written is a manifest of some resources, each at a path.
func written(t *testing.T, root sitemap.Root, entries []sitemap.Entry, paths [][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	m, err := dump.NewManifest(&b, &root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		if err := m.Add(&entries[i], paths[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func loc(s string) []byte { return []byte("https://example.org/r/rivers/" + s) }

func sumsOf(p *piece) sitemap.Sums {
	return sitemap.Sums{MD5: &p.content.MD5, SHA256: &p.content.SHA256, Length: &p.content.Length}
}

// resourceDump is a manifest with the members it lists.
func resourceDump(t *testing.T) ([]byte, []piece) {
	pieces := []piece{
		newPiece(string(dump.AppendResourcePath(nil, 1, "Elbe & Weser.xml")), []byte("<river/>"), true, march),
		newPiece(string(dump.AppendResourcePath(nil, 2, "a.pdf")), []byte("%PDF"), false, march),
	}
	entries := []sitemap.Entry{
		{Loc: loc("1/Elbe%20%26%20Weser.xml"), LastMod: t2, MD: sitemap.MD{Sums: sumsOf(&pieces[0]), Type: "application/xml"}},
		{Loc: loc("2/a.pdf"), LastMod: t1, MD: sitemap.MD{Sums: sumsOf(&pieces[1]), Type: "application/pdf"},
			Links: []sitemap.Link{{Rel: "describedby", Href: loc("1/Elbe%20%26%20Weser.xml")}}},
	}
	root := sitemap.Root{Links: up, MD: sitemap.MD{Capability: dump.ResourceDumpManifest, At: t2}}
	return written(t, root, entries, [][]byte{[]byte(pieces[0].path), []byte(pieces[1].path)}), pieces
}

// changeDump has two states of one resource and a deletion.
func changeDump(t *testing.T) ([]byte, []piece) {
	pieces := []piece{
		newPiece(string(dump.AppendChangePath(nil, 1, "a.xml")), []byte("<a>one</a>"), true, march),
		newPiece(string(dump.AppendChangePath(nil, 2, "a.xml")), []byte("<a>two</a>"), true, march),
	}
	change := func(kind model.Kind, at []byte) sitemap.MD {
		return sitemap.MD{Change: kind.String(), DateTime: at, Type: "application/xml"}
	}
	entries := []sitemap.Entry{
		{Loc: loc("1/a.xml"), LastMod: t1, MD: change(model.Created, t1)},
		{Loc: loc("1/a.xml"), LastMod: t2, MD: change(model.Updated, t2)},
		{Loc: loc("1/a.xml"), LastMod: t2, MD: sitemap.MD{Change: "deleted", DateTime: t2}},
	}
	entries[0].MD.Sums, entries[1].MD.Sums = sumsOf(&pieces[0]), sumsOf(&pieces[1])
	root := sitemap.Root{Links: up, MD: sitemap.MD{Capability: dump.ChangeDumpManifest, From: t1, Until: t2}}
	return written(t, root, entries, [][]byte{[]byte(pieces[0].path), []byte(pieces[1].path), nil}), pieces
}

// inPackage puts a manifest before its members and reads everything back.
func inPackage(t *testing.T, manifest []byte, pieces []piece) *sitemaptest.Document {
	t.Helper()
	all := append([]piece{newPiece(dump.ManifestName, manifest, true, march)}, pieces...)
	p := packageOf(t, all)
	r, err := dump.Open(p, p.Size(), dump.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	d := sitemaptest.Check(t, manifest)
	var listed []dump.Listed
	for _, e := range d.Entries() {
		md := e.About()
		if md.Change == "deleted" {
			continue
		}
		listed = append(listed, dump.Listed{Path: md.Path, Sums: sums(t, md)})
	}
	if err := r.Verify(t.Context(), sequence(listed), nil); err != nil {
		t.Error(err)
	}
	return d
}

// sums are the attributes hash and length, as a destination reads them.
func sums(t *testing.T, md sitemaptest.MD) sitemap.Sums {
	var md5 [16]byte
	var sha [32]byte
	var length int64
	var a, b []byte
	if _, err := fmt.Sscanf(md.Hash+" "+md.Length, "md5:%x sha-256:%x %d", &a, &b, &length); err != nil {
		t.Fatalf("%q %q: %v", md.Hash, md.Length, err)
	}
	copy(md5[:], a)
	copy(sha[:], b)
	return sitemap.Sums{MD5: &md5, SHA256: &sha, Length: &length}
}

func TestManifest(t *testing.T) {
	resources, resourcePieces := resourceDump(t)
	changes, changePieces := changeDump(t)
	golden(t, "resourcedump-manifest", resources)
	golden(t, "changedump-manifest", changes)
	t.Run("schema", func(t *testing.T) { sitemaptest.Validate(t, resources, changes) })

	d := inPackage(t, resources, resourcePieces)
	t.Run("RS-RDM-02 capability, at, up", func(t *testing.T) {
		md := d.MD[0]
		if md.Capability != "resourcedump-manifest" || md.At != string(t2) || d.Link("up") == "" {
			t.Errorf("root %+v, up %q", md, d.Link("up"))
		}
	})
	t.Run("RS-RDM-03 loc and path on every entry", func(t *testing.T) {
		for i, e := range d.Entries() {
			if e.URI() == "" || e.About().Path != "/"+resourcePieces[i].path || strings.HasSuffix(e.About().Path, "/") {
				t.Errorf("entry %+v, member %s", e, resourcePieces[i].path)
			}
		}
	})
	t.Run("RS-RDM-04 type on every entry", func(t *testing.T) {
		for _, e := range d.Entries() {
			if e.About().Type == "" {
				t.Errorf("entry %+v", e)
			}
		}
	})

	d = inPackage(t, changes, changePieces)
	t.Run("RS-CDM-01 capability, from, up, oldest first", func(t *testing.T) {
		md := d.MD[0]
		if md.Capability != "changedump-manifest" || md.From != string(t1) || md.Until != string(t2) || d.Link("up") == "" {
			t.Errorf("root %+v, up %q", md, d.Link("up"))
		}
		last := ""
		for _, e := range d.Entries() {
			if e.About().DateTime < last {
				t.Errorf("%s after %s", e.About().DateTime, last)
			}
			last = e.About().DateTime
		}
	})
	t.Run("RS-CDM-02 change and path unless deleted", func(t *testing.T) {
		for _, e := range d.Entries() {
			if md := e.About(); md.Change == "" || (md.Path == "") != (md.Change == "deleted") || md.Path != "" && md.Path[0] != '/' {
				t.Errorf("entry %+v", md)
			}
		}
	})
	t.Run("RS-CD-03 a bitstream for each change", func(t *testing.T) {
		first, second := d.Entries()[0], d.Entries()[1]
		if first.URI() != second.URI() || first.About().Path == second.About().Path || first.About().Hash == second.About().Hash {
			t.Errorf("%+v and %+v", first, second)
		}
	})
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden.xml")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(must(os.ReadFile(file))), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestManifestRefuses(t *testing.T) {
	for what, root := range map[string]sitemap.Root{
		"another capability":    {Links: up, MD: sitemap.MD{Capability: "resourcedump", At: t1}},
		"RS-RDM-02 no at":       {Links: up, MD: sitemap.MD{Capability: dump.ResourceDumpManifest}},
		"RS-RDM-02 no up":       {MD: sitemap.MD{Capability: dump.ResourceDumpManifest, At: t1}},
		"RS-CDM-01 no from":     {Links: up, MD: sitemap.MD{Capability: dump.ChangeDumpManifest, Until: t2}},
		"RS-CDM-01 no up":       {MD: sitemap.MD{Capability: dump.ChangeDumpManifest, From: t1}},
		"up without a place up": {Links: []sitemap.Link{{Rel: "up"}}, MD: sitemap.MD{Capability: dump.ChangeDumpManifest, From: t1}},
	} {
		if _, err := dump.NewManifest(&bytes.Buffer{}, &root); err == nil {
			t.Errorf("%s begins a manifest", what)
		}
	}
	path := []byte("changes/1/a.xml")
	for _, c := range []struct {
		what  string
		entry sitemap.Entry
		path  []byte
	}{
		{"no loc", sitemap.Entry{MD: sitemap.MD{Change: "created", DateTime: t2}}, path},
		{"RS-CDM-02 no change", sitemap.Entry{Loc: loc("1"), MD: sitemap.MD{DateTime: t2}}, path},
		{"no datetime", sitemap.Entry{Loc: loc("1"), MD: sitemap.MD{Change: "created"}}, path},
		{"RS-CDM-01 older than before", sitemap.Entry{Loc: loc("1"), MD: sitemap.MD{Change: "created", DateTime: t1}}, path},
		{"RS-CDM-02 no path", sitemap.Entry{Loc: loc("1"), MD: sitemap.MD{Change: "created", DateTime: t2}}, nil},
		{"RS-CDM-02 a deletion with path", sitemap.Entry{Loc: loc("1"), MD: sitemap.MD{Change: "deleted", DateTime: t2}}, path},
		{"RS-RDM-03 a slash at the end", sitemap.Entry{Loc: loc("1"), MD: sitemap.MD{Change: "created", DateTime: t2}}, []byte("a/")},
		{"RS-RDM-05 a way up", sitemap.Entry{Loc: loc("1"), MD: sitemap.MD{Change: "created", DateTime: t2}}, []byte("../a")},
		{"the manifest", sitemap.Entry{Loc: loc("1"), MD: sitemap.MD{Change: "created", DateTime: t2}}, []byte("manifest.xml")},
	} {
		root := sitemap.Root{Links: up, MD: sitemap.MD{Capability: dump.ChangeDumpManifest, From: t1}}
		m := must(dump.NewManifest(&bytes.Buffer{}, &root))
		first := sitemap.Entry{Loc: loc("1"), MD: sitemap.MD{Change: "deleted", DateTime: t2}}
		if err := m.Add(&first, nil); err != nil {
			t.Fatal(err)
		}
		if err := m.Add(&c.entry, c.path); err == nil {
			t.Errorf("%s is taken", c.what)
		}
	}
	root := sitemap.Root{Links: up, MD: sitemap.MD{Capability: dump.ResourceDumpManifest, At: t1}}
	m := must(dump.NewManifest(&bytes.Buffer{}, &root))
	e := sitemap.Entry{Loc: loc("1"), MD: sitemap.MD{Change: "created"}}
	if err := m.Add(&e, []byte("a")); err == nil {
		t.Error("a resource dump has a change")
	}
	e.MD.Change = ""
	for i := range 50_000 {
		if err := m.Add(&e, fmt.Appendf(nil, "resources/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Add(&e, []byte("a")); err == nil {
		t.Error("a manifest has 50,001 entries")
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestManifestReportsWrites(t *testing.T) {
	full := errors.New("disk full")
	root := sitemap.Root{Links: up, MD: sitemap.MD{Capability: dump.ResourceDumpManifest, At: t1}}
	m := must(dump.NewManifest(brokenWriter{full}, &root))
	if err := m.Close(); !errors.Is(err, full) {
		t.Error(err)
	}
}
