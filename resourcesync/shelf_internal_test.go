package resourcesync

import (
	"fmt"
	"testing"

	"gateway/dump"
	"gateway/model"
)

// What is kept is bounded by members, and what was used last stays longest.
func TestShelfIsBounded(t *testing.T) {
	s := newShelf(nil)
	s.most = 100
	add := func(n, members int) *order {
		p := &model.Package{Path: fmt.Sprint(n), Layout: dump.Version}
		x, err := newIndex(p, &model.Content{}, members)
		if err != nil {
			t.Fatal(err)
		}
		l := &layout{index: x}
		for i := range members - 1 {
			if err := l.add(fmt.Append(nil, i), &model.Resource{}); err != nil {
				t.Fatal(err)
			}
		}
		o := &order{path: p.Path, done: make(chan struct{}), cancel: func() {}}
		s.byPath[p.Path] = o
		s.finish(o, l, nil)
		return o
	}
	check := func(held int, paths ...string) {
		t.Helper()
		for _, path := range paths {
			if s.byPath[path] == nil {
				t.Errorf("%s is not kept", path)
			}
		}
		if s.held != held || len(s.byPath) != len(paths) || s.recent.Len() != len(paths) {
			t.Errorf("%d members of %d held, want %d", s.held, len(s.byPath), held)
		}
	}
	add(1, 40)
	add(2, 40)
	check(80, "1", "2")
	s.leave(s.order(t.Context(), &model.View{}, &model.Package{Path: "1"}, &model.Content{}))
	add(3, 40)
	check(80, "1", "3")
	if o := add(4, 101); o.layout == nil || o.err != nil {
		t.Error("one that is too large to be kept is not usable")
	}
	check(0)
}
