package dump_test

import (
	"testing"

	"pgregory.net/rapid"

	"gateway/dump"
)

// TestMeasures holds what an index tells of places against a package that was
// made of it.
func TestMeasures(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		pieces := some()[:rapid.IntRange(1, len(some())).Draw(r, "members")]
		x := indexOf(t, pieces)
		var at int64
		for i := range pieces {
			if got := x.ContentStart(i); got != at {
				r.Errorf("content of member %d begins at %d, want %d", i, got, at)
			}
			for off := at; off < at+pieces[i].content.Stored; off++ {
				if got := x.ContentAt(off); got != i {
					r.Errorf("byte %d of the content is of member %d, want %d", off, got, i)
				}
			}
			at += pieces[i].content.Stored
		}
		if got := x.ContentStart(x.Len()); got != at || got != x.ContentSize() {
			r.Errorf("content ends at %d, want %d", got, at)
		}

		whole := bytesOf(t, packageOf(t, pieces))
		first := indexOf(t, pieces[:1]).MembersSize()
		if alone := bytesOf(t, packageOf(t, pieces[:1])); string(alone[:first]) != string(whole[:first]) {
			r.Errorf("the first member has other bytes when others follow")
		}
		if n := len(pieces); n > 1 {
			last := &pieces[n-1]
			grown := x.Size() - indexOf(t, pieces[:n-1]).Size()
			if bound := dump.Bound([]byte(last.path), &last.content); grown > bound || bound-grown > 64 {
				r.Errorf("%s adds %d bytes, bound %d", last.path, grown, bound)
			}
		}
	})
}
