package ingest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gateway/model"
)

// filled is a store whose set s holds the records 0 … n-1.
func filled(t *testing.T, n int) *fake {
	f := newFake(t)
	if r, _, err := f.run(Config{}, lines(0, n)); err != nil || r.Created != int64(n) {
		t.Fatalf("%+v, %v", r, err)
	}
	return f
}

func (f *fake) live(set string) int64 { return f.sets[set].Now().Head.Records }

func TestComplete(t *testing.T) {
	t.Run("deletes what is missing", func(t *testing.T) {
		f := filled(t, 200)
		r, findings, err := f.run(Config{Complete: true}, lines(15, 200)+lines(300, 310))
		if want := (Result{Created: 10, Deleted: 15, Unchanged: 185}); err != nil || r != want || len(findings) > 0 {
			t.Errorf("%+v, %v, %v; want %+v", r, findings, err, want)
		}
		if got := f.live("s"); got != 195 {
			t.Errorf("%d are live", got)
		}
		if r, _, err = f.run(Config{Complete: true}, lines(15, 200)+lines(300, 310)); err != nil || r != (Result{Unchanged: 195}) {
			t.Errorf("again: %+v, %v", r, err)
		}
	})
	t.Run("in batches", func(t *testing.T) {
		f := filled(t, 2500)
		if r, _, err := f.run(Config{Complete: true, MaxDeletes: "all"}, lines(0, 1)); err != nil || r != (Result{Deleted: 2499, Unchanged: 1}) {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("what the input itself deletes, and creates again", func(t *testing.T) {
		f := filled(t, 20)
		del := `{"identifier":"urn:x:0","deleted":true}` + "\n"
		if r, _, err := f.run(Config{Complete: true}, lines(1, 20)+del); err != nil || r != (Result{Deleted: 1, Unchanged: 19}) {
			t.Errorf("%+v, %v", r, err)
		}
		if r, _, err := f.run(Config{Complete: true, MaxDeletes: "0"}, lines(0, 20)+del+lines(0, 1)); err != nil || r != (Result{Created: 2, Deleted: 1, Unchanged: 19}) {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("guard", func(t *testing.T) {
		for _, c := range []struct {
			live, missing int
			most          string
			want          string // "" is allowed
		}{
			{100, 10, "", ""},
			{100, 11, "", "set s: 11 of its 100 records are missing from the input, more than 10; none was deleted; --max-deletes 11 allows it"},
			{209, 20, "", ""},
			{209, 21, "", "set s: 21 of its 209 records are missing from the input, more than 20; none was deleted; --max-deletes 21 allows it"},
			{100, 11, "11", ""},
			{100, 11, "all", ""},
			{100, 1, "0", "set s: 1 of its 100 records are missing from the input, more than 0; none was deleted; --max-deletes 1 allows it"},
			{5, 5, "", "set s: the input is empty; nothing was deleted; --max-deletes all deletes all of its 5 records"},
			{5, 5, "5", "set s: the input is empty; nothing was deleted; --max-deletes all deletes all of its 5 records"},
			{5, 5, "all", ""},
			{0, 0, "", ""},
		} {
			f := filled(t, c.live)
			r, _, err := f.run(Config{Complete: true, MaxDeletes: c.most}, lines(c.missing, c.live))
			got, deleted := "", int64(c.missing)
			if err != nil {
				got, deleted = err.Error(), 0
				if guarded := (*GuardError)(nil); !errors.As(err, &guarded) || guarded.Missing != int64(c.missing) {
					t.Errorf("error %#v", err)
				}
			}
			if got != c.want || r.Deleted != deleted || f.live("s") != int64(c.live)-deleted {
				t.Errorf("%+v: %+v, %v", c, r, err)
			}
		}
	})
	t.Run("not after a rejected line", func(t *testing.T) {
		f := filled(t, 20)
		r, _, err := f.run(Config{Complete: true, MaxDeletes: "all"}, lines(1, 20)+"{}\n")
		if err == nil || r != (Result{Unchanged: 19, Rejected: 1}) || f.live("s") != 20 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("not what changed meanwhile", func(t *testing.T) {
		f := filled(t, 20)
		s := f.sets["s"]
		touch := func(id, title string) {
			r := model.Record{Identifier: id, State: model.State{Title: title, Resources: s.At(1).Resources}}
			s.last[id] = s.Log.Commit(r)[0].Position
		}
		f.before = func(n int) error {
			switch n {
			case 2: // while the input is read
				touch("urn:x:0", "changed")
				touch("urn:x:new", "created")
			case 3: // between the count and the deletion
				touch("urn:x:1", "changed")
			}
			return nil
		}
		r, findings, err := f.run(Config{Complete: true}, lines(4, 20))
		if err != nil || r != (Result{Deleted: 2, Unchanged: 16}) || len(findings) > 0 || f.live("s") != 19 {
			t.Errorf("%+v, %v, %v, %d live", r, findings, err, f.live("s"))
		}
	})
	t.Run("each set named is guarded alone", func(t *testing.T) {
		in := func(set string, from, to int) string {
			return strings.ReplaceAll(lines(from, to), `{"identifier"`, fmt.Sprintf(`{"from":%q,"identifier"`, set))
		}
		f := newFake(t)
		if _, _, err := f.run(Config{SetFrom: "from"}, in("a", 0, 30)+in("b", 0, 30)+in("c", 0, 30)); err != nil {
			t.Fatal(err)
		}
		r, _, err := f.run(Config{SetFrom: "from", Complete: true}, in("a", 20, 30)+in("b", 5, 30)+in("d", 0, 3))
		if want := (Result{Created: 3, Deleted: 5, Unchanged: 35}); r != want {
			t.Errorf("%+v, want %+v", r, want)
		}
		if err == nil || err.Error() != "set a: 20 of its 30 records are missing from the input, more than 10; none was deleted; --max-deletes 20 allows it" {
			t.Errorf("error %v", err)
		}
		if d := cmp.Diff([]int64{30, 25, 30, 3}, []int64{f.live("a"), f.live("b"), f.live("c"), f.live("d")}); d != "" {
			t.Error(d)
		}
	})
	t.Run("a set touched before its first line keeps what is new", func(t *testing.T) {
		f := newFake(t)
		one := func(set string) string {
			return strings.Replace(line("urn:x:1"), "{", fmt.Sprintf(`{"from":%q,`, set), 1) + "\n"
		}
		if _, _, err := f.run(Config{SetFrom: "from"}, one("a")+one("b")); err != nil {
			t.Fatal(err)
		}
		b := f.sets["b"]
		inputs := []Input{Reader("x", strings.NewReader(one("a"))), Reader("y", &onFirstRead{func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			b.last["urn:x:2"] = b.Log.Commit(model.Record{Identifier: "urn:x:2", State: model.State{Resources: b.At(1).Resources}})[0].Position
		}, strings.NewReader(one("b"))})}
		if r, _, err := f.runInputs(t.Context(), Config{SetFrom: "from", Complete: true, MaxDeletes: "all"}, inputs); err != nil || r != (Result{Unchanged: 2}) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// onFirstRead does something before the first read.
type onFirstRead struct {
	do func()
	r  *strings.Reader
}

func (o *onFirstRead) Read(p []byte) (int, error) {
	if o.do != nil {
		o.do()
		o.do = nil
	}
	return o.r.Read(p)
}
