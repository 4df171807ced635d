package resourcesync_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gateway/dump"
	"gateway/model"
	"gateway/model/modeltest"
	"gateway/resourcesync"
	"gateway/sitemap/sitemaptest"
)

// manyPackages is a set of so many packages that its dumps are indexes: one for
// each record, and segments of one change.
func manyPackages(t testing.TB) *world {
	w := newWorld(t, model.Limits{Entries: 3, IndexSegments: 5})
	w.Set.Policy.SegmentSize, w.Set.Policy.PackageSize = 1, 1
	for i := range 8 {
		w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), State: model.State{
			Resources: []model.Resource{w.text(model.Representation, "dc.xml", "application/xml", fmt.Sprint(i))},
		}})
	}
	w.showAll()
	w.takeSnapshot(w.Head(), w.view().Head.Time)
	return w
}

func TestResourceDump(t *testing.T) {
	w := riverWorld(t)
	path := resourcesync.ResourceDumpPath(w.Set.Name)
	d := sitemaptest.Check(t, w.get(path))
	packages := w.packagesOf(path, "resourcedump") // checks each
	t.Run("RS-RD-01 capability, at and up, and loc of each package", func(t *testing.T) {
		if d.Index() || d.MD[0].Capability != "resourcedump" || d.MD[0].At != w.snapshot.At.String() || d.Link("up") == "" || len(d.URLs) < 2 {
			t.Errorf("%+v", d)
		}
	})
	t.Run("RS-RD-02 RS-RD-03 RS-DOC-13 type and length of each package, all ZIP", func(t *testing.T) {
		for i, e := range d.URLs {
			if e.About().Type != "application/zip" || e.About().Length != strconv.Itoa(len(packages[i].bytes)) || !bytes.HasPrefix(packages[i].bytes, []byte("PK\x03\x04")) {
				t.Errorf("%+v", e)
			}
		}
	})
	t.Run("RS-RD-04 the manifest inside is the one outside", func(t *testing.T) {
		for i, e := range d.URLs {
			inside := string(unzipped(t, packages[i].bytes, dump.ManifestName))
			if outside := string(w.get(strings.TrimPrefix(e.Link("contents"), base))); inside != outside {
				t.Errorf("inside\n%s\noutside\n%s", inside, outside)
			}
		}
	})
	t.Run("RS-RDM-01 RS-RDM-02 RS-RDM-04 capability, at, up, type of each entry", func(t *testing.T) {
		for _, a := range packages {
			m := sitemaptest.Check(t, unzipped(t, a.bytes, dump.ManifestName))
			if m.MD[0].Capability != "resourcedump-manifest" || m.MD[0].At != d.MD[0].At || m.Link("up") != d.Link("up") {
				t.Errorf("%+v", m)
			}
			for _, e := range m.URLs {
				if e.About().Type == "" || e.About().Change != "" || e.LastMod == "" {
					t.Errorf("%+v", e)
				}
			}
		}
	})
	t.Run("RS-RDM-03 RS-RDM-05 paths", func(t *testing.T) {
		for _, a := range packages {
			for _, e := range a.manifest.URLs {
				p := e.About().Path
				if !strings.HasPrefix(p, "/resources/") || strings.HasSuffix(p, "/") || a.members[p[1:]] == nil && e.About().Length != "0" {
					t.Errorf("%+v", e)
				}
			}
		}
	})
	t.Run("RS-RDM-06 every resource with its content, nothing else", func(t *testing.T) {
		got := map[string]string{}
		for _, a := range packages {
			for _, e := range a.manifest.URLs {
				got[e.URI()] = string(a.members[e.About().Path[1:]])
			}
		}
		want := map[string]string{}
		for c := range w.States(t.Context(), w.Set.ID, w.Head(), 0) {
			for _, r := range c.Resources {
				if !r.External() {
					want[string(model.AppendResourceURI(nil, base, "rivers", c.Record, r.Name))] = w.content(&r)
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	})
	t.Run("RS-CAP-05 the dump covers what the list covers", func(t *testing.T) {
		list := copyOfSet{}
		w.list(list, resourcesync.ResourceListPath(w.Set.Name))
		if dumped, _ := w.dumped(); !maps.Equal(list, dumped) {
			t.Errorf("list %v\ndump %v", list, dumped)
		}
	})
	t.Run("RS-DOC-09 manifests are valid by the schema", func(t *testing.T) {
		for _, a := range packages {
			sitemaptest.Validate(t, unzipped(t, a.bytes, dump.ManifestName))
		}
	})
}

// content is the identity bytes of a resource.
func (w *world) content(r *model.Resource) string {
	if !r.Content.Deflated {
		return string(w.bodies[r.Content.SHA256])
	}
	return inflate(w.bodies[r.Content.SHA256])
}

func unzipped(t testing.TB, b []byte, name string) []byte {
	t.Helper()
	r, err := dump.Open(bytes.NewReader(b), int64(len(b)), dump.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r.Member(name).Open(noSums))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestPackageSizes(t *testing.T) {
	for _, limit := range []int64{1, 1500, 4000, 1 << 20} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			w := newWorld(t, model.Limits{Entries: 40})
			w.Set.Policy.PackageSize = limit
			for i := range 50 {
				var resources []model.Resource
				for n := range 1 + i%4 {
					resources = append(resources, w.text(model.Representation, fmt.Sprint("r", n), "text/plain", strings.Repeat(fmt.Sprint(i, n), 1+i%40)))
				}
				w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), State: model.State{Resources: resources}})
			}
			w.showAll()
			w.copySnapshot(w.Head(), w.view().Head.Time)
			for _, a := range w.packagesOf(resourcesync.ResourceDumpPath("rivers"), "resourcedump") {
				p := w.packages[a.path]
				if p.Size > limit && p.First != p.Last {
					t.Errorf("%s has %d bytes of the records %d to %d", a.path, p.Size, p.First, p.Last)
				}
				if p.Members > 40 || p.Members != len(a.members) {
					t.Errorf("%s: %d members, announced %d", a.path, len(a.members), p.Members)
				}
			}
		})
	}
}

func TestDumpIndexes(t *testing.T) {
	w := manyPackages(t)
	index := sitemaptest.Check(t, w.get(resourcesync.ResourceDumpPath("rivers")))
	t.Run("RS-RD-05 an index over parts", func(t *testing.T) {
		if !index.Index() || index.MD[0].Capability != "resourcedump" || index.MD[0].At == "" || len(index.Parts) != 3 {
			t.Errorf("%+v", index)
		}
		total := 0
		for _, part := range index.Parts {
			d := sitemaptest.Check(t, w.get(strings.TrimPrefix(part.URI(), base)))
			if d.Index() || d.MD[0].At != index.MD[0].At || part.About().At != index.MD[0].At || d.Link("index") != base+resourcesync.ResourceDumpPath("rivers") {
				t.Errorf("%+v", d)
			}
			total += len(d.URLs)
		}
		if total != 8 {
			t.Errorf("%d packages", total)
		}
		if set, _ := w.dumped(); !maps.Equal(set, w.modelAt(w.Head())) {
			t.Errorf("%v", set)
		}
	})
	t.Run("an index over change dumps", func(t *testing.T) {
		// Of eight segments the newest five, 4–6 and 7–8.
		index := sitemaptest.Check(t, w.get(resourcesync.ChangeDumpPath("rivers")))
		if !index.Index() || len(index.Parts) != 2 || index.MD[0].From != w.Cut()[3].From.String() || index.MD[0].Until != "" {
			t.Fatalf("%+v", index)
		}
		if a, b := index.Parts[0].About(), index.Parts[1].About(); a.Until != b.From || b.Until != "" {
			t.Errorf("%+v, then %+v", a, b)
		}
		for _, part := range index.Parts {
			d := sitemaptest.Check(t, w.get(strings.TrimPrefix(part.URI(), base)))
			if d.Index() || d.MD[0].From != part.About().From || d.MD[0].Until != part.About().Until || d.Link("index") != base+resourcesync.ChangeDumpPath("rivers") {
				t.Errorf("%+v, named as %+v", d, part)
			}
		}
		if n := len(w.packagesOf(resourcesync.ChangeDumpPath("rivers"), "changedump")); n != 5 {
			t.Errorf("%d packages", n)
		}
	})
	t.Run("status", func(t *testing.T) {
		g := resourcesync.Generation{Set: "rivers", Epoch: 1, Snapshot: 1}
		check := func(path string, want int) {
			t.Helper()
			if got := w.ask(http.MethodGet, path).Code; got != want {
				t.Errorf("%s: %d, want %d", path, got, want)
			}
		}
		check(g.DumpPartPath(4), 404)
		check(g.DumpPartPath(1<<40), 404)
		check(resourcesync.ChangeDumpPart{Set: "rivers", Epoch: 1, Number: 1}.Path(), 404)
		check(resourcesync.ChangeDumpPart{Set: "rivers", Epoch: 1, Number: 4}.Path(), 404)
		check(resourcesync.ChangeDumpPart{Set: "rivers", Epoch: 1, Number: 1 << 62}.Path(), 404)
		check(resourcesync.Generation{Set: "rivers", Epoch: 1, Snapshot: 2}.DumpPartPath(1), 404)
		w.takeSnapshot(w.Head(), w.view().Head.Time)
		check(g.DumpPartPath(1), 410)
		w.Epoch.Number = 2
		check(resourcesync.ChangeDumpPart{Set: "rivers", Epoch: 1, Number: 2}.Path(), 410)
	})
}

func TestChangeDump(t *testing.T) {
	w := riverWorld(t)
	path := resourcesync.ChangeDumpPath(w.Set.Name)
	d := sitemaptest.Check(t, w.get(path))
	t.Run("RS-CD-01 RS-CD-02 capability, from, up, packages in order with type, length, from and until", func(t *testing.T) {
		if d.Index() || d.MD[0].Capability != "changedump" || d.MD[0].From != w.Cut()[1].From.String() || d.Link("up") == "" || len(d.URLs) != 3 {
			t.Fatalf("%+v", d)
		}
		for i, e := range d.URLs {
			seg := w.Cut()[i+1]
			if m := e.About(); m.Type != "application/zip" || m.Length == "" || m.From != seg.From.String() || m.Until != seg.Until.String() {
				t.Errorf("%+v", m)
			}
		}
	})
	t.Run("RS-CDM-01 RS-CDM-02 RS-CDM-03 manifests are the closed change lists, with paths", func(t *testing.T) {
		for i, a := range w.packagesOf(path, "changedump") {
			m := sitemaptest.Check(t, unzipped(t, a.bytes, dump.ManifestName))
			list := w.parse(resourcesync.ChangeList{Set: "rivers", Epoch: 1, Segment: model.SegmentNumber(i + 2)}.Path())
			if m.MD[0].Capability != "changedump-manifest" || m.MD[0].From != list.MD[0].From || m.Link("up") == "" || !slices.Equal(bare(m.URLs), bare(list.URLs)) {
				t.Errorf("manifest %+v\nlist %+v", m, list)
			}
			for _, e := range m.URLs {
				if deleted := e.About().Change == "deleted"; deleted != (e.About().Path == "") || e.About().Change == "" {
					t.Errorf("%+v", e)
				}
			}
			if len(m.URLs) > 0 {
				sitemaptest.Validate(t, unzipped(t, a.bytes, dump.ManifestName))
			}
		}
	})
	t.Run("RS-CDM-04 no patches", func(t *testing.T) {
		for _, a := range w.packagesOf(path, "changedump") {
			for _, e := range a.manifest.URLs {
				if e.Link("http://www.openarchives.org/rs/terms/patch") != "" {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}

// RS-CD-03: n changes of one resource, whether in one segment or in several, are
// n contents.
func TestEveryState(t *testing.T) {
	w := newWorld(t, model.Limits{})
	w.Set.Policy.SegmentSize = 4
	for i := range 12 {
		r := w.deflated(model.Representation, "dc.xml", "application/xml", strings.Repeat(fmt.Sprint("state ", i), 20))
		w.Commit(model.Record{Identifier: "urn:example:1", State: model.State{Resources: []model.Resource{r}}})
	}
	w.showAll()
	t.Run("RS-CD-03 every state after each change", func(t *testing.T) {
		var got []string
		for _, a := range w.packagesOf(resourcesync.ChangeDumpPath("rivers"), "changedump") {
			for _, e := range a.manifest.URLs {
				got = append(got, string(a.members[e.About().Path[1:]]))
			}
		}
		for i, s := range got {
			if want := strings.Repeat(fmt.Sprint("state ", i), 20); s != want {
				t.Errorf("state %d is %q", i, s)
			}
		}
		if len(got) != 12 {
			t.Errorf("%d states", len(got))
		}
	})
}

// Segments whose changes are of titles only make packages without members, so
// that the dump has no gap.
func TestTitlesOnly(t *testing.T) {
	w := newWorld(t, model.Limits{})
	w.Set.Policy.SegmentSize = 2
	for i := range 8 {
		w.Commit(model.Record{Identifier: "urn:example:1", State: model.State{Title: fmt.Sprint(i), Resources: []model.Resource{
			w.text(model.Representation, "dc.xml", "application/xml", "<dc/>")}}})
	}
	w.showAll()
	w.checkDumps()
	empty := 0
	for _, a := range w.packagesOf(resourcesync.ChangeDumpPath("rivers"), "changedump") {
		if len(a.members) == 0 {
			empty++
		}
	}
	if empty != 3 {
		t.Errorf("%d empty packages", empty)
	}
}

// A Change Dump begins after the last segment that has no package.
func TestChangeDumpOfferedLater(t *testing.T) {
	w := newWorld(t, model.Limits{})
	w.Set.Policy.SegmentSize = 1
	offer := w.Set.Policy.Capabilities
	commit := func(offered bool) {
		w.Set.Policy.Capabilities = []string{model.CapabilityResourceList, model.CapabilityChangeList}
		if offered {
			w.Set.Policy.Capabilities = offer
		}
		w.Commit(model.Record{Identifier: "urn:example:1", State: model.State{Resources: []model.Resource{
			w.text(model.Representation, "dc.xml", "application/xml", fmt.Sprint(w.Head()))}}})
		w.showAll()
	}
	check := func(want ...model.SegmentNumber) {
		t.Helper()
		var got []model.SegmentNumber
		for _, a := range w.packagesOf(resourcesync.ChangeDumpPath("rivers"), "changedump") {
			got = append(got, w.packages[a.path].Segment)
		}
		if !slices.Equal(got, want) {
			t.Errorf("packages of the segments %v, want %v", got, want)
		}
		from := w.Cut()[len(w.Cut())-1].Until
		if len(want) > 0 {
			from = w.Cut()[want[0]-1].From
		}
		if d := w.parse(resourcesync.ChangeDumpPath("rivers")); d.MD[0].From != from.String() {
			t.Errorf("from %s, want %s", d.MD[0].From, from)
		}
	}
	commit(true)
	commit(true)
	check(1, 2)
	commit(false)
	w.Set.Policy.Capabilities = offer
	check()
	w.takeSnapshot(0, w.Set.Created) // so that only the next one has packages
	commit(true)
	commit(true)
	check(4, 5)
}

// A snapshot of before dumps were offered has none, and the dump says so until
// there is a newer one.
func TestResourceDumpOfferedLater(t *testing.T) {
	w := newWorld(t, model.Limits{})
	offer := w.Set.Policy.Capabilities
	w.Commit(model.Record{Identifier: "urn:example:1", State: model.State{Resources: []model.Resource{
		w.text(model.Representation, "dc.xml", "application/xml", "<dc/>")}}})
	w.showAll()
	w.Set.Policy.Capabilities = []string{model.CapabilityResourceList}
	w.takeSnapshot(1, w.view().Head.Time)
	w.Set.Policy.Capabilities = offer
	if got := w.ask(http.MethodGet, resourcesync.ResourceDumpPath("rivers")); got.Code != 503 {
		t.Errorf("%d", got.Code)
	}
	w.copySnapshot(1, w.view().Head.Time)
}

func TestDumpsInMidLog(t *testing.T) {
	w := newWorld(t, model.Limits{})
	w.Set.Policy.SegmentSize = 100
	commit := func(n int) {
		for i := range n {
			w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), State: model.State{Resources: []model.Resource{
				w.text(model.Representation, "dc.xml", "application/xml", fmt.Sprint(w.Head()))}}})
		}
	}
	commit(5)
	w.Clock += 10_000_000
	w.Epoch = model.Epoch{Number: 2, Reason: "erasure", BaseURL: base, First: 5, From: w.Clock - 5_000_000, Began: w.Clock - 5_000_000}
	commit(3)
	w.Seal()
	w.showAll()
	packages := w.packagesOf(resourcesync.ChangeDumpPath("rivers"), "changedump")
	if len(packages) != 1 || len(packages[0].members) != 3 || packages[0].manifest.MD[0].From != w.Epoch.From.String() {
		t.Errorf("%+v", packages)
	}
}

// bigWorld has a package of more members than are opened at a time.
func bigWorld(t testing.TB) *world {
	w := newWorld(t, model.Limits{})
	w.Set.Policy.SegmentSize = 25_000
	for i := range 12 {
		resources := []model.Resource{w.text(model.Representation, "dc.xml", "application/xml", "<dc/>")}
		for n := range 400 {
			content := strings.Repeat(fmt.Sprintf("%d,%d;", i, n), n%7)
			if n%2 == 0 && content != "" {
				resources = append(resources, w.deflated(model.File, fmt.Sprint(n, ".txt"), "text/plain", content))
			} else {
				resources = append(resources, w.text(model.File, fmt.Sprint(n, ".txt"), "text/plain", content))
			}
		}
		w.Commit(model.Record{Identifier: fmt.Sprint("urn:example:", i), State: model.State{Resources: resources}})
	}
	w.Seal()
	w.showAll()
	w.takeSnapshot(w.Head(), w.view().Head.Time)
	v := w.view()
	w.frozen = &v
	return w
}

func TestRanges(t *testing.T) {
	w := bigWorld(t)
	for _, dumpPath := range []string{resourcesync.ResourceDumpPath("rivers"), resourcesync.ChangeDumpPath("rivers")} {
		a := w.packagesOf(dumpPath, dumpPath[len("/rs/rivers/"):len(dumpPath)-len(".xml")])[0]
		size := len(a.bytes)
		if len(a.members) != 12*401 {
			t.Fatalf("%d members", len(a.members))
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 80 {
			from := random.IntN(size)
			to := from + random.IntN(min(size-from, 1+random.IntN(200_000)))
			answer := w.ask(http.MethodGet, a.path, "Range", fmt.Sprintf("bytes=%d-%d", from, to))
			if answer.Code != http.StatusPartialContent || !bytes.Equal(answer.Body.Bytes(), a.bytes[from:to+1]) {
				t.Fatalf("bytes %d-%d of %d: %d, %d bytes", from, to, size, answer.Code, answer.Body.Len())
			}
		}
		w.reads = nil
		middle := fmt.Sprintf("bytes=%d-%d", size/2, size/2+99)
		answer := w.ask(http.MethodGet, a.path, "Range", middle)
		opened := 0
		for _, n := range w.reads {
			opened += n
		}
		if opened > 10 {
			t.Errorf("%d contents opened for 100 bytes", opened)
		}
		tag := answer.Header().Get("ETag")

		several := w.ask(http.MethodGet, a.path, "Range", fmt.Sprintf("bytes=0-99,%d-%d,-22", size/2, size/2+99), "If-Range", tag)
		checkMultipart(t, several.Header().Get("Content-Type"), several.Body, a.bytes[:100], a.bytes[size/2:size/2+100], a.bytes[size-22:])
		for _, test := range []struct {
			name, header, value, ifRange string
			status, length               int
		}{
			{"If-Range holds", "Range", middle, tag, 206, 100},
			{"If-Range does not hold", "Range", middle, `"other"`, 200, size},
			{"outside", "Range", fmt.Sprintf("bytes=%d-", size), "", 416, -1},
			{"the same", "If-None-Match", tag, "", 304, 0},
		} {
			answer := w.ask(http.MethodGet, a.path, test.header, test.value, "If-Range", test.ifRange)
			if answer.Code != test.status || test.length >= 0 && answer.Body.Len() != test.length {
				t.Errorf("%s: %d, %d bytes", test.name, answer.Code, answer.Body.Len())
			}
		}
		w.reads = nil
		head := w.ask(http.MethodHead, a.path)
		if head.Header().Get("Content-Length") != strconv.Itoa(size) || head.Body.Len() != 0 || head.Header().Get("Accept-Ranges") != "bytes" ||
			head.Header().Get("ETag") != tag || !strings.Contains(head.Header().Get("Cache-Control"), "immutable") || head.Header().Get("Last-Modified") == "" {
			t.Errorf("%v", head.Header())
		}
		if len(w.reads) > 0 {
			t.Error("HEAD opened contents")
		}
	}
}

func checkMultipart(t *testing.T, contentType string, body io.Reader, want ...[]byte) {
	t.Helper()
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(body, params["boundary"])
	for i := range want {
		part, err := r.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(part); err != nil || !bytes.Equal(got, want[i]) {
			t.Errorf("part %d: %v", i, err)
		}
	}
}

// The manifest is the same bytes in every package of the same set, so what is
// known of a package does not depend on where its content lies.
func TestPackageRows(t *testing.T) {
	a, b := riverWorld(t), riverWorld(t)
	if len(a.packages) < 6 || !maps.Equal(a.packages, b.packages) {
		t.Errorf("%v\n%v", a.packages, b.packages)
	}
	for path, p := range a.packages {
		if p.Layout != dump.Version || p.Size == 0 || p.Digest == [32]byte{} || p.LastModified < modeltest.Start || (p.Snapshot == 0) == (p.Segment == 0) {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

// Content that is not what was published breaks the connection instead of
// filling the package.
func TestPackageOfAnotherLog(t *testing.T) {
	w := riverWorld(t)
	a := w.packagesOf(resourcesync.ResourceDumpPath("rivers"), "resourcedump")[0]
	p := w.packages[a.path]
	for name, change := range map[string]func(p *model.Package){
		"digest":  func(p *model.Package) { p.Digest[0]++ },
		"size":    func(p *model.Package) { p.Size++ },
		"members": func(p *model.Package) { p.Members++ },
		"layout":  func(p *model.Package) { p.Layout++ },
		"records": func(p *model.Package) { p.Last++ },
	} {
		t.Run(name, func(t *testing.T) {
			other := riverWorld(t)
			changed := p
			change(&changed)
			other.packages[a.path] = changed
			defer func() {
				if got := recover(); got != http.ErrAbortHandler {
					t.Errorf("recovered %v", got)
				}
			}()
			other.ask(http.MethodGet, a.path)
			t.Error("the package was sent")
		})
	}
}

func TestPackageStatus(t *testing.T) {
	w := riverWorld(t)
	g := resourcesync.Generation{Set: "rivers", Epoch: 1, Snapshot: 1}
	of := resourcesync.ResourcePackage{Generation: g, Part: 1, Number: 1}
	segment := resourcesync.ChangePackage{Set: "rivers", Epoch: 1, Segment: 4}
	for _, test := range []struct {
		name, path string
		before     func()
		want       int
	}{
		{"package", of.Path(), nil, 200},
		{"manifest", of.ManifestPath(), nil, 200},
		{"package of a segment", segment.Path(), nil, 200},
		{"manifest of a segment", segment.ManifestPath(), nil, 200},
		{"none of that number", resourcesync.ResourcePackage{Generation: g, Part: 1, Number: 9}.Path(), nil, 404},
		{"no number", "/rs/rivers/1/resourcedump/1/x.zip", nil, 404},
		{"leading zero", "/rs/rivers/1/resourcedump/1/01-1.zip", nil, 404},
		{"open segment", resourcesync.ChangePackage{Set: "rivers", Epoch: 1, Segment: 5}.Path(), nil, 404},
		{"another file", "/rs/rivers/1/changedump/1.xml", nil, 404},
		{"another set", "/rs/lakes/1/changedump/1.zip", nil, 404},
		{"another epoch", "/rs/rivers/2/changedump/1.zip", nil, 404},
		{"a published segment when it was not yet", segment.Path(), func() { w.published = 3 }, 404},
		{"its manifest", segment.ManifestPath(), nil, 404},
		{"expired", of.Path(), func() {
			w.takeSnapshot(5, w.At(5).Time)
			delete(w.documents, g.PartPath(1))
			delete(w.packages, of.Path())
			delete(w.documents, of.ManifestPath())
		}, 410},
		{"expired manifest", of.ManifestPath(), nil, 410},
		{"not ready", resourcesync.ResourceDumpPath("rivers"), func() { w.notReady = true }, 503},
		{"not ready either", resourcesync.ChangeDumpPath("rivers"), nil, 503},
		{"the epoch is over", segment.Path(), func() { w.Epoch.Number = 2 }, 410},
	} {
		if test.before != nil {
			test.before()
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if got := w.ask(method, test.path).Code; got != test.want {
				t.Errorf("%s: %s %s is %d, want %d", test.name, method, test.path, got, test.want)
			}
		}
	}
}
