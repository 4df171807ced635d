package resourcesync

import (
	"fmt"
	"strings"

	"gateway/model"
)

// ResourceDumpPath is where the newest Resource Dump of a set, or its index, is.
func ResourceDumpPath(set string) string { return "/rs/" + set + "/resourcedump.xml" }

// ParseResourceDumpPath is the inverse of ResourceDumpPath.
func ParseResourceDumpPath(path string) (set string, err error) {
	return parseSetPath(path, "/rs/*/resourcedump.xml")
}

// ChangeDumpPath is where the Change Dump of a set, or its index, is.
func ChangeDumpPath(set string) string { return "/rs/" + set + "/changedump.xml" }

// ParseChangeDumpPath is the inverse of ChangeDumpPath.
func ParseChangeDumpPath(path string) (set string, err error) {
	return parseSetPath(path, "/rs/*/changedump.xml")
}

// SelectionPath is where a package of chosen resources of a set is asked for.
func SelectionPath(set string) string { return "/rs/" + set + "/dump" }

// ParseSelectionPath is the inverse of SelectionPath.
func ParseSelectionPath(path string) (set string, err error) {
	return parseSetPath(path, "/rs/*/dump")
}

// DumpPartPath is where part number (1, 2, …) of the Resource Dump of g is, when
// it has so many packages that it is an index.
func (g Generation) DumpPartPath(number int) string {
	return fmt.Sprintf("/rs/%s/%d/resourcedump/%d/dump-%d.xml", g.Set, g.Epoch, g.Snapshot, number)
}

// ParseDumpPartPath is the inverse of [Generation.DumpPartPath].
func ParseDumpPartPath(path string) (g Generation, number int, err error) {
	f, err := fields(path, "/rs/*/*/resourcedump/*/dump-*.xml")
	if err != nil {
		return Generation{}, 0, err
	}
	if g, err = parseGeneration(f); err != nil {
		return Generation{}, 0, err
	}
	n, err := model.ParseNumber[int64](f[3])
	if err != nil {
		return Generation{}, 0, err
	}
	return g, int(n), nil
}

// ResourcePackage names a package of a Resource Dump: one of those (Number = 1,
// 2, …) that hold what a part (1, 2, …) of the Resource List lists.
type ResourcePackage struct {
	Generation
	Part, Number int
}

// Path is where p is.
func (p ResourcePackage) Path() string { return p.path(".zip") }

// ManifestPath is where the manifest of p is on its own.
func (p ResourcePackage) ManifestPath() string { return p.path("-manifest.xml") }

func (p ResourcePackage) path(suffix string) string {
	return fmt.Sprintf("/rs/%s/%d/resourcedump/%d/%d-%d%s", p.Set, p.Epoch, p.Snapshot, p.Part, p.Number, suffix)
}

// ParseResourcePackagePath is the inverse of [ResourcePackage.Path].
func ParseResourcePackagePath(path string) (ResourcePackage, error) {
	return parseResourcePackage(path, ".zip")
}

// ParseResourceManifestPath is the inverse of [ResourcePackage.ManifestPath].
func ParseResourceManifestPath(path string) (ResourcePackage, error) {
	return parseResourcePackage(path, "-manifest.xml")
}

func parseResourcePackage(path, suffix string) (ResourcePackage, error) {
	f, err := fields(path, "/rs/*/*/resourcedump/*/*"+suffix)
	if err != nil {
		return ResourcePackage{}, err
	}
	g, err := parseGeneration(f)
	if err != nil {
		return ResourcePackage{}, err
	}
	left, right, _ := strings.Cut(f[3], "-")
	part, err := model.ParseNumber[int64](left)
	if err != nil {
		return ResourcePackage{}, err
	}
	number, err := model.ParseNumber[int64](right)
	if err != nil {
		return ResourcePackage{}, err
	}
	return ResourcePackage{Generation: g, Part: int(part), Number: int(number)}, nil
}

// ChangePackage names the package of a Change Dump that holds a segment.
type ChangePackage struct {
	Set     string
	Epoch   model.EpochNumber
	Segment model.SegmentNumber
}

// Path is where p is.
func (p ChangePackage) Path() string { return p.path(".zip") }

// ManifestPath is where the manifest of p is on its own.
func (p ChangePackage) ManifestPath() string { return p.path("-manifest.xml") }

func (p ChangePackage) path(suffix string) string {
	return fmt.Sprintf("/rs/%s/%d/changedump/%d%s", p.Set, p.Epoch, p.Segment, suffix)
}

// ParseChangePackagePath is the inverse of [ChangePackage.Path].
func ParseChangePackagePath(path string) (ChangePackage, error) {
	return parseChangePackage(path, ".zip")
}

// ParseChangeManifestPath is the inverse of [ChangePackage.ManifestPath].
func ParseChangeManifestPath(path string) (ChangePackage, error) {
	return parseChangePackage(path, "-manifest.xml")
}

func parseChangePackage(path, suffix string) (ChangePackage, error) {
	f, err := fields(path, "/rs/*/*/changedump/*"+suffix)
	if err != nil {
		return ChangePackage{}, err
	}
	epoch, segment, err := parseSegment(f)
	return ChangePackage{f[0], epoch, segment}, err
}

// ChangeDumpPart names the part of a Change Dump that names the packages of
// block number (1, 2, …) of segments, when there are so many that it is an
// index.
type ChangeDumpPart struct {
	Set    string
	Epoch  model.EpochNumber
	Number model.SegmentNumber
}

// Path is where p is.
func (p ChangeDumpPart) Path() string {
	return fmt.Sprintf("/rs/%s/%d/changedump/dump-%d.xml", p.Set, p.Epoch, p.Number)
}

// ParseChangeDumpPartPath is the inverse of [ChangeDumpPart.Path].
func ParseChangeDumpPartPath(path string) (ChangeDumpPart, error) {
	f, err := fields(path, "/rs/*/*/changedump/dump-*.xml")
	if err != nil {
		return ChangeDumpPart{}, err
	}
	epoch, number, err := parseSegment(f)
	return ChangeDumpPart{f[0], epoch, number}, err
}

func parseSegment(f []string) (epoch model.EpochNumber, segment model.SegmentNumber, err error) {
	if epoch, err = model.ParseNumber[model.EpochNumber](f[1]); err != nil {
		return 0, 0, err
	}
	segment, err = model.ParseNumber[model.SegmentNumber](f[2])
	return epoch, segment, err
}
