package resourcesync_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"gateway/resourcesync"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden holds the bytes of every kind of document. Those of sealed
// documents are for good: other bytes would need a new epoch.
func TestGolden(t *testing.T) {
	w := riverWorld(t)
	g := resourcesync.Generation{Set: "rivers", Epoch: 1, Snapshot: 1}
	for name, path := range map[string]string{
		"capabilitylist":            resourcesync.CapabilityListPath("rivers"),
		"resourcelist-index":        g.IndexPath(),
		"resourcelist-part-1":       g.PartPath(1),
		"resourcelist-part-2":       g.PartPath(2),
		"changelist-index":          resourcesync.ChangeListIndexPath("rivers"),
		"changelist-closed-1":       resourcesync.ChangeList{Set: "rivers", Epoch: 1, Segment: 1}.Path(),
		"changelist-closed-3":       resourcesync.ChangeList{Set: "rivers", Epoch: 1, Segment: 3}.Path(),
		"resourcedump":              resourcesync.ResourceDumpPath("rivers"),
		"resourcedump-manifest-1-1": resourcesync.ResourcePackage{Generation: g, Part: 1, Number: 1}.ManifestPath(),
		"changedump":                resourcesync.ChangeDumpPath("rivers"),
		"changedump-manifest-3":     resourcesync.ChangePackage{Set: "rivers", Epoch: 1, Segment: 3}.ManifestPath(),
		"changelist-open":           resourcesync.ChangeList{Set: "rivers", Epoch: 1, Segment: 5}.Path(),
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, w.get(path))
		})
	}
	empty := newWorld(t, w.limits)
	t.Run("resourcelist-empty", func(t *testing.T) {
		golden(t, "resourcelist-empty", empty.get(resourcesync.ResourceListPath("rivers")))
	})
	t.Run("resourcedump-empty", func(t *testing.T) {
		golden(t, "resourcedump-empty", empty.get(resourcesync.ResourceDumpPath("rivers")))
	})
	t.Run("changedump-empty", func(t *testing.T) {
		golden(t, "changedump-empty", empty.get(resourcesync.ChangeDumpPath("rivers")))
	})
	many := manyPackages(t)
	of := resourcesync.Generation{Set: "rivers", Epoch: 1, Snapshot: 1}
	for name, path := range map[string]string{
		"resourcedump-index":  resourcesync.ResourceDumpPath("rivers"),
		"resourcedump-part-2": of.DumpPartPath(2),
		"changedump-index":    resourcesync.ChangeDumpPath("rivers"),
		"changedump-part-2":   resourcesync.ChangeDumpPart{Set: "rivers", Epoch: 1, Number: 2}.Path(),
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, many.get(path)) })
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := "testdata/" + name + ".golden.xml"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
