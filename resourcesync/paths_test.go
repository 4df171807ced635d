package resourcesync_test

import (
	"errors"
	"testing"

	"gateway/model"
	"gateway/resourcesync"
)

// FuzzPaths: a path that parses is the one that is made of what was parsed, and
// at most one function takes it.
func FuzzPaths(f *testing.F) {
	g := resourcesync.Generation{Set: "a-b_1", Epoch: 3, Snapshot: 45}
	for _, path := range []string{
		resourcesync.CapabilityListPath("rivers"), resourcesync.ResourceListPath("rivers"), resourcesync.ChangeListIndexPath("rivers"),
		resourcesync.ChangeList{Set: "rivers", Epoch: 1, Segment: 12}.Path(), g.IndexPath(), g.PartPath(7),
		resourcesync.ResourceDumpPath("rivers"), resourcesync.ChangeDumpPath("rivers"), resourcesync.SelectionPath("rivers"), g.DumpPartPath(7),
		resourcesync.ResourcePackage{Generation: g, Part: 1, Number: 12}.Path(), resourcesync.ResourcePackage{Generation: g, Part: 1, Number: 12}.ManifestPath(),
		resourcesync.ChangePackage{Set: "rivers", Epoch: 1, Segment: 12}.Path(), resourcesync.ChangePackage{Set: "rivers", Epoch: 1, Segment: 12}.ManifestPath(),
		resourcesync.ChangeDumpPart{Set: "rivers", Epoch: 1, Number: 3}.Path(), "/rs/rivers/1/resourcedump/1/1-.zip", "/rs/rivers/1/resourcedump/1/1-1-1.zip",
		"/rs/rivers/1/changelist/1.xml/", "/rs//changelist.xml", "rs/rivers/changelist.xml", "/rs/rivers/1/changelist/.xml",
		"/rs/rivers/1/changelist/9223372036854775808.xml", "/rs/rivers/+1/changelist/1.xml", "/rs/../changelist.xml", "",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		taken := 0
		check := func(back string, err error) {
			switch {
			case err == nil && back != path:
				t.Errorf("%q was read as %q", path, back)
			case err == nil:
				taken++
			case !errors.Is(err, model.ErrNotFound):
				t.Errorf("%q: %v", path, err)
			}
		}
		set, err := resourcesync.ParseCapabilityListPath(path)
		check(resourcesync.CapabilityListPath(set), err)
		set, err = resourcesync.ParseResourceListPath(path)
		check(resourcesync.ResourceListPath(set), err)
		set, err = resourcesync.ParseChangeListIndexPath(path)
		check(resourcesync.ChangeListIndexPath(set), err)
		list, err := resourcesync.ParseChangeListPath(path)
		check(list.Path(), err)
		g, err := resourcesync.ParseGenerationIndexPath(path)
		check(g.IndexPath(), err)
		g, n, err := resourcesync.ParsePartPath(path)
		check(g.PartPath(n), err)
		set, err = resourcesync.ParseResourceDumpPath(path)
		check(resourcesync.ResourceDumpPath(set), err)
		set, err = resourcesync.ParseChangeDumpPath(path)
		check(resourcesync.ChangeDumpPath(set), err)
		set, err = resourcesync.ParseSelectionPath(path)
		check(resourcesync.SelectionPath(set), err)
		g, n, err = resourcesync.ParseDumpPartPath(path)
		check(g.DumpPartPath(n), err)
		p, err := resourcesync.ParseResourcePackagePath(path)
		check(p.Path(), err)
		p, err = resourcesync.ParseResourceManifestPath(path)
		check(p.ManifestPath(), err)
		s, err := resourcesync.ParseChangePackagePath(path)
		check(s.Path(), err)
		s, err = resourcesync.ParseChangeManifestPath(path)
		check(s.ManifestPath(), err)
		part, err := resourcesync.ParseChangeDumpPartPath(path)
		check(part.Path(), err)
		if taken > 1 {
			t.Errorf("%q has two meanings", path)
		}
	})
}

func TestPathsParse(t *testing.T) {
	if l, err := resourcesync.ParseChangeListPath("/rs/rivers/2/changelist/30.xml"); err != nil || l != (resourcesync.ChangeList{Set: "rivers", Epoch: 2, Segment: 30}) {
		t.Errorf("%+v, %v", l, err)
	}
	want := resourcesync.Generation{Set: "rivers", Epoch: 2, Snapshot: 30}
	if g, n, err := resourcesync.ParsePartPath("/rs/rivers/2/resourcelist/30/4.xml"); err != nil || g != want || n != 4 {
		t.Errorf("%+v, %d, %v", g, n, err)
	}
	if g, err := resourcesync.ParseGenerationIndexPath("/rs/rivers/2/resourcelist/30/index.xml"); err != nil || g != want {
		t.Errorf("%+v, %v", g, err)
	}
}
