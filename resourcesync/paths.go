package resourcesync

import (
	"fmt"
	"strings"

	"gateway/model"
)

// SourceDescriptionPath is where every walk along up ends (RFC 8615,
// ResourceSync 1.1 §6.3.2).
const SourceDescriptionPath = "/.well-known/resourcesync"

// The paths below are below the base URL. Each function that makes one has its
// inverse beside it, which answers [model.ErrNotFound] to anything else.

// CapabilityListPath is where the Capability List of a set is.
func CapabilityListPath(set string) string { return "/rs/" + set + "/capabilitylist.xml" }

// ParseCapabilityListPath is the inverse of CapabilityListPath.
func ParseCapabilityListPath(path string) (set string, err error) {
	return parseSetPath(path, "/rs/*/capabilitylist.xml")
}

// ResourceListPath is where the newest Resource List of a set, or its index, is.
func ResourceListPath(set string) string { return "/rs/" + set + "/resourcelist.xml" }

// ParseResourceListPath is the inverse of ResourceListPath.
func ParseResourceListPath(path string) (set string, err error) {
	return parseSetPath(path, "/rs/*/resourcelist.xml")
}

// ChangeListIndexPath is where the Change List Index of a set is.
func ChangeListIndexPath(set string) string { return "/rs/" + set + "/changelist.xml" }

// ParseChangeListIndexPath is the inverse of ChangeListIndexPath.
func ParseChangeListIndexPath(path string) (set string, err error) {
	return parseSetPath(path, "/rs/*/changelist.xml")
}

// ChangeList names the Change List of one segment, open or closed.
type ChangeList struct {
	Set     string
	Epoch   model.EpochNumber
	Segment model.SegmentNumber
}

// Path is where l is.
func (l ChangeList) Path() string {
	return fmt.Sprintf("/rs/%s/%d/changelist/%d.xml", l.Set, l.Epoch, l.Segment)
}

// ParseChangeListPath is the inverse of [ChangeList.Path].
func ParseChangeListPath(path string) (l ChangeList, err error) {
	f, err := fields(path, "/rs/*/*/changelist/*.xml")
	if err != nil {
		return ChangeList{}, err
	}
	l.Set = f[0]
	if l.Epoch, err = model.ParseNumber[model.EpochNumber](f[1]); err != nil {
		return ChangeList{}, err
	}
	if l.Segment, err = model.ParseNumber[model.SegmentNumber](f[2]); err != nil {
		return ChangeList{}, err
	}
	return l, nil
}

// Generation names the Resource List of one snapshot, all its parts together.
type Generation struct {
	Set      string
	Epoch    model.EpochNumber
	Snapshot model.SnapshotNumber
}

// IndexPath is where the index over the parts of g is.
func (g Generation) IndexPath() string {
	return fmt.Sprintf("/rs/%s/%d/resourcelist/%d/index.xml", g.Set, g.Epoch, g.Snapshot)
}

// ParseGenerationIndexPath is the inverse of [Generation.IndexPath].
func ParseGenerationIndexPath(path string) (Generation, error) {
	f, err := fields(path, "/rs/*/*/resourcelist/*/index.xml")
	if err != nil {
		return Generation{}, err
	}
	return parseGeneration(f)
}

// PartPath is where part number (1, 2, …) of g is.
func (g Generation) PartPath(number int) string {
	return fmt.Sprintf("/rs/%s/%d/resourcelist/%d/%d.xml", g.Set, g.Epoch, g.Snapshot, number)
}

// ParsePartPath is the inverse of [Generation.PartPath].
func ParsePartPath(path string) (g Generation, number int, err error) {
	f, err := fields(path, "/rs/*/*/resourcelist/*/*.xml")
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

func parseGeneration(f []string) (g Generation, err error) {
	g.Set = f[0]
	if g.Epoch, err = model.ParseNumber[model.EpochNumber](f[1]); err != nil {
		return Generation{}, err
	}
	if g.Snapshot, err = model.ParseNumber[model.SnapshotNumber](f[2]); err != nil {
		return Generation{}, err
	}
	return g, nil
}

func parseSetPath(path, pattern string) (set string, err error) {
	f, err := fields(path, pattern)
	if err != nil {
		return "", err
	}
	return f[0], nil
}

// fields are what stands in path where pattern has stars, one at most between
// two slashes; the first of them is the name of a set.
func fields(path, pattern string) ([]string, error) {
	var found []string
	for {
		want, restPattern, more := strings.Cut(pattern, "/")
		got, rest, moreGot := strings.Cut(path, "/")
		before, after, star := strings.Cut(want, "*")
		switch {
		case more != moreGot:
			return nil, model.ErrNotFound
		case !star && got != want:
			return nil, model.ErrNotFound
		case star && (len(got) < len(before)+len(after) || !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after)):
			return nil, model.ErrNotFound
		case star:
			found = append(found, got[len(before):len(got)-len(after)])
		}
		if !more {
			break
		}
		path, pattern = rest, restPattern
	}
	if !model.ValidSetName(found[0]) {
		return nil, model.ErrNotFound
	}
	return found, nil
}
