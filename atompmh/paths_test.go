package atompmh

import (
	"errors"
	"testing"

	"gateway/model"
)

// FuzzPaths expects of every path that it is refused as not found, or is the one
// that is made of what was read from it.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{
		"/atom", "/atom/", "/atom/rivers", "/atom/rivers/", "/atom/rivers/complete", "/atom/rivers/1/archive/2", "/atom/rivers/01/archive/2",
		"/atom/rivers/1/archive/0", "/atom/Rivers", "/atom/complete/complete", "/atom//complete", "/atom/rivers/-1/archive/1", "/atomrivers",
		"/atom/rivers/1/archive/9223372036854775808", "/atom/rivers/1/archives/1", "/rs/rivers/1/archive/1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		set, err := ParseSubscriptionPath(path)
		checkPath(t, path, SubscriptionPath(set), err)
		set, err = ParseCompletePath(path)
		checkPath(t, path, CompletePath(set), err)
		archive, err := ParseArchivePath(path)
		checkPath(t, path, archive.Path(), err)
	})
}

func checkPath(t *testing.T, path, again string, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, model.ErrNotFound) || err == nil && path != again {
		t.Errorf("%q is read as %q, error %v", path, again, err)
	}
}

func TestPaths(t *testing.T) {
	if set, err := ParseSubscriptionPath("/atom/rivers"); err != nil || set != "rivers" {
		t.Errorf("subscription: %q, %v", set, err)
	}
	if set, err := ParseCompletePath("/atom/complete/complete"); err != nil || set != "complete" {
		t.Errorf("complete feed: %q, %v", set, err)
	}
	want := Archive{Set: "r-1_2", Epoch: 12, Segment: 1 << 40}
	if a, err := ParseArchivePath(want.Path()); err != nil || a != want {
		t.Errorf("archive: %+v, %v", a, err)
	}
}
