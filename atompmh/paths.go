package atompmh

import (
	"fmt"
	"strconv"
	"strings"

	"gateway/model"
)

// ServicePath is where the service document is. All paths are below the base
// URL.
const ServicePath = "/atom"

// SubscriptionPath is where a set's subscription document is.
func SubscriptionPath(set string) string { return ServicePath + "/" + set }

// ParseSubscriptionPath takes apart what SubscriptionPath made.
func ParseSubscriptionPath(path string) (set string, err error) {
	parts, ok := split(path, 1)
	if !ok {
		return "", noSuchPath(path)
	}
	return parts[0], nil
}

// CompletePath is where a set's complete feed is.
func CompletePath(set string) string { return SubscriptionPath(set) + "/complete" }

// ParseCompletePath takes apart what CompletePath made.
func ParseCompletePath(path string) (set string, err error) {
	parts, ok := split(path, 2)
	if !ok || parts[1] != "complete" {
		return "", noSuchPath(path)
	}
	return parts[0], nil
}

// Archive names one archive document: the segment whose changes it holds, in
// one epoch of one set.
type Archive struct {
	Set     string
	Epoch   model.EpochNumber
	Segment model.SegmentNumber
}

// Path is where the archive document is. A document of another epoch has
// another path, so what is sealed under one stays as it is.
func (a Archive) Path() string {
	return SubscriptionPath(a.Set) + "/" + strconv.FormatInt(int64(a.Epoch), 10) + "/archive/" + strconv.FormatInt(int64(a.Segment), 10)
}

// ParseArchivePath takes apart what Archive.Path made.
func ParseArchivePath(path string) (Archive, error) {
	parts, ok := split(path, 4)
	if !ok || parts[2] != "archive" {
		return Archive{}, noSuchPath(path)
	}
	epoch, err := model.ParseNumber[model.EpochNumber](parts[1])
	if err != nil {
		return Archive{}, noSuchPath(path)
	}
	segment, err := model.ParseNumber[model.SegmentNumber](parts[3])
	if err != nil {
		return Archive{}, noSuchPath(path)
	}
	return Archive{Set: parts[0], Epoch: epoch, Segment: segment}, nil
}

// split cuts what follows ServicePath into n parts, the first of which must be
// a set's name.
func split(path string, n int) ([]string, bool) {
	rest, ok := strings.CutPrefix(path, ServicePath+"/")
	if !ok {
		return nil, false
	}
	parts := strings.Split(rest, "/")
	return parts, len(parts) == n && model.ValidSetName(parts[0])
}

func noSuchPath(path string) error { return fmt.Errorf("%q: %w", path, model.ErrNotFound) }
