package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gateway/model"
)

func TestViewsShare(t *testing.T) {
	var c views
	finish := func(v *sharedView, revision int64) {
		v.view = model.View{Revision: revision}
		close(v.done)
	}
	first, fresh := c.share("a", "r")
	if !fresh {
		t.Fatal("the first caller has nobody to wait for")
	}
	if second, fresh := c.share("a", "r"); fresh || second != first {
		t.Error("two reads of one view are under way")
	}
	if _, fresh := c.share("a", "other"); !fresh {
		t.Error("another renderer shares the read")
	}
	finish(first, 1)
	if _, fresh := c.share("a", "r"); fresh {
		t.Error("a read that has just ended is not used")
	}
	c.drop("a")
	second, fresh := c.share("a", "r")
	if !fresh {
		t.Error("a read is used that began before an own write")
	}
	finish(second, 2)
	second.began = second.began.Add(-viewFor)
	if _, fresh := c.share("a", "r"); !fresh {
		t.Error("an old read is used")
	}
}

func TestViewsBounded(t *testing.T) {
	var c views
	for i := range 3 * maxViews {
		v, _ := c.share(string(rune('a'+i)), "r")
		v.began = time.Time{}
		close(v.done)
		if c.kept > maxViews {
			t.Fatalf("%d views are kept", c.kept)
		}
	}
	n := 0
	for _, byRenderer := range c.sets {
		n += len(byRenderer)
	}
	if n != c.kept {
		t.Errorf("%d views are kept, and %d are counted", n, c.kept)
	}
}

func TestViewsBoundedUnderWay(t *testing.T) {
	var c views
	for i := range 2 * maxViews {
		if _, fresh := c.share(string(rune('a'+i)), "r"); !fresh {
			t.Fatal("a read of another set is shared")
		}
	}
	if c.kept > maxViews || len(c.sets) > maxViews {
		t.Errorf("%d reads of %d sets are kept", c.kept, len(c.sets))
	}
}

// TestViewsOfNothing asks for sets that are not there, as anybody may.
func TestViewsOfNothing(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kept := func() int {
		s.views.mu.Lock()
		defer s.views.mu.Unlock()
		return s.views.kept + len(s.views.sets)
	}
	long := strings.Repeat("x", 1<<20)
	_, err = s.View(t.Context(), long, "r")
	if !errors.Is(err, model.ErrNotFound) || len(err.Error()) > 1000 {
		t.Errorf("a long name: %.100v", err)
	}
	if n := kept(); n != 0 {
		t.Errorf("%d views are kept of a name that no set can have", n)
	}
	v, _ := s.views.share("nobody", "r")
	s.readShared(t.Context(), v, "nobody", "r")
	if !errors.Is(v.err, model.ErrNotFound) {
		t.Errorf("a set that is not there: %v", v.err)
	}
	if n := kept(); n != 0 {
		t.Errorf("%d views are kept of a set that is not there", n)
	}
}

func TestBackOff(t *testing.T) {
	for attempt := range 100 {
		if d := backOff(attempt); d <= 0 || d > 64*time.Millisecond {
			t.Errorf("attempt %d waits %v", attempt, d)
		}
	}
}
