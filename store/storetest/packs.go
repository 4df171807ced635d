package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gateway/model"
	"gateway/store"
)

// packOf makes the object of a pack from the loose content of segments.
func packOf(t *testing.T, s *store.Store, objects *Objects, set model.SetID, object string, from, to model.SegmentNumber) model.Pack {
	t.Helper()
	p := model.Pack{Set: set, Object: object, From: from, To: to, Until: 1 << 60}
	var b []byte
	for c, err := range s.Loose(t.Context(), set, from, to) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Segment <= from || c.Segment > to {
			t.Errorf("content %d is of segment %d, want one after %d up to %d", c.Key, c.Segment, from, to)
		}
		b = append(b, c.Kept...)
		p.Contents = append(p.Contents, model.Packed{Key: c.Key, Stored: int64(len(c.Kept)), Sum: crc32.ChecksumIEEE(c.Kept)})
	}
	objects.Put(object, b)
	return p
}

// copyOf makes the object of a pack from contents anywhere, in the order given.
func copyOf(t *testing.T, s *store.Store, objects *Objects, set model.SetID, object string, keys ...model.ContentKey) model.Pack {
	t.Helper()
	p := model.Pack{Set: set, Object: object, Until: 1 << 60}
	var b []byte
	for _, key := range keys {
		kept, err := s.OpenContent(t.Context(), set, key)
		text := readAll(t, kept, err)
		b = append(b, text...)
		p.Contents = append(p.Contents, model.Packed{Key: key, Stored: int64(len(text)), Sum: crc32.ChecksumIEEE([]byte(text))})
	}
	objects.Put(object, b)
	return p
}

func keysOf(p model.Pack) []model.ContentKey {
	var keys []model.ContentKey
	for _, c := range p.Contents {
		keys = append(keys, c.Key)
	}
	return keys
}

func places(t *testing.T, s *store.Store, set model.SetID, keys ...model.ContentKey) []model.Place {
	t.Helper()
	found, err := s.Places(t.Context(), set, keys)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// testPacks moves content into a pack of the log, by one of two packers, and
// frees the database's bytes when their time is over.
func testPacks(t *testing.T, db Database) {
	now := time.Now()
	var objects Objects
	s := open(t, db, func(c *store.Config) {
		c.Objects = &objects
		c.Now = func() time.Time { return now }
	})
	set := newSet(t, s, "packs", 2)
	for i := range 5 {
		commit(t, s, set.ID, record(fmt.Sprintf("urn:x:%d", i), "T", fmt.Sprint("first of ", i), fmt.Sprint("second of ", i)))
	}
	before := view(t, s, set)
	p := packOf(t, s, &objects, set.ID, "packs/1", 0, 2)
	equal(t, "loose content", []model.ContentKey{1, 2, 3, 4, 5, 6, 7, 8}, keysOf(p))
	for name, stale := range map[string]model.Pack{
		"another position": {Set: set.ID, Object: "packs/0", Contents: p.Contents, Until: 1 << 60, From: 1, To: 2},
		"no lease":         {Set: set.ID, Object: "packs/0", Contents: p.Contents, Until: 1 << 60, To: 2, Holder: "nobody"},
		"too late":         {Set: set.ID, Object: "packs/0", Contents: p.Contents, Until: model.TimeOf(now) - 1_000_000, To: 2},
	} {
		if err := s.Pack(t.Context(), stale); !errors.Is(err, model.ErrHeadMoved) {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, "place", []model.Place{{Stored: 11}}, places(t, s, set.ID, 2))
	if err := s.Pack(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := s.Pack(t.Context(), p); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("the pack again: %v", err)
	}
	equal(t, "places", []model.Place{{Object: "packs/1", Start: 10, Stored: 11}, {Stored: 10}}, places(t, s, set.ID, 2, 9))
	if _, err := s.Places(t.Context(), set.ID, []model.ContentKey{1, 99}); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("a place of unknown content: %v", err)
	}
	after := view(t, s, set)
	equal(t, "view", before, after)
	b, err := s.Backlog(t.Context(), set.ID)
	if err != nil {
		t.Fatal(err)
	}
	if b.Packed != 2 || b.Spent == 0 {
		t.Errorf("packed up to %d, spent %v", b.Packed, b.Spent)
	}

	free := func() {
		t.Helper()
		for more := true; more; {
			if more, err = s.Free(t.Context(), set.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	rows := func() (n int) {
		t.Helper()
		if err := db.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM content_bytes WHERE set_id = ?", set.ID).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	free()
	if rows() != 10 {
		t.Errorf("%d contents have bytes in the database before their time is over, want 10", rows())
	}
	checkClean(t, s)
	db.exec(t, "UPDATE spent SET due = 1 WHERE set_id = ?", set.ID)
	free()
	if rows() != 2 {
		t.Errorf("%d contents have bytes in the database, want 2", rows())
	}
	if b, err = s.Backlog(t.Context(), set.ID); err != nil || b.Spent != 0 {
		t.Errorf("spent %v, %v", b.Spent, err)
	}
	for i := range 5 {
		for j, word := range []string{"first", "second"} {
			kept, err := s.OpenContent(t.Context(), set.ID, model.ContentKey(2*i+j+1))
			equal(t, "content", fmt.Sprint(word, " of ", i), readAll(t, kept, err))
		}
	}
	checkClean(t, s)
}

// testPackFaults fails each step of a pack's transaction before and after it
// took effect.
func testPackFaults(t *testing.T, db Database) {
	var objects Objects
	var fail string
	s := open(t, db, func(c *store.Config) {
		c.Objects = &objects
		c.Fault = func(step string) error {
			if step == fail {
				fail = ""
				return fmt.Errorf("%s: %w", step, store.ErrLost)
			}
			return nil
		}
	})
	for i, step := range []string{store.FaultBegin, store.FaultLocked, store.FaultWritten, store.FaultCommitBefore, store.FaultCommitAfter} {
		set := filled(t, s, fmt.Sprint("fault", i))
		p := packOf(t, s, &objects, set.ID, fmt.Sprint("packs/", i), 0, 1)
		fail = step
		if err := s.Pack(t.Context(), p); err != nil {
			t.Errorf("%s: %v", step, err)
		}
		db.exec(t, "UPDATE spent SET due = 1 WHERE set_id = ?", set.ID)
		fail = step
		if _, err := s.Free(t.Context(), set.ID); err != nil {
			t.Errorf("%s: %v", step, err)
		}
		b, err := s.Backlog(t.Context(), set.ID)
		if err != nil || b.Packed != 1 || b.Spent != 0 {
			t.Errorf("%s: packed up to %d, spent %v, %v", step, b.Packed, b.Spent, err)
		}
	}
	checkClean(t, s)
}

// testCopies copies content into other orders. Objects that hold none any more
// are garbage, and content of an object of its own moves as well.
func testCopies(t *testing.T, db Database) {
	var objects Objects
	s := open(t, db, func(c *store.Config) { c.Objects = &objects })
	set := newSet(t, s, "copies", 2)
	objects.Put("contents/1", []byte("in an object"))
	if err := s.ReserveObject(t.Context(), set.ID, "contents/1", time.Hour); err != nil {
		t.Fatal(err)
	}
	large := record("urn:x:large", "Large", "in an object", "beside it")
	large.Bodies[0] = model.Body{Object: "contents/1"}
	commit(t, s, set.ID, large, record("urn:x:1", "T", "one", "two"), record("urn:x:2", "T", "three", ""))
	if err := s.Pack(t.Context(), packOf(t, s, &objects, set.ID, "packs/1", 0, 1)); err != nil {
		t.Fatal(err)
	}
	free := func(want ...string) {
		t.Helper()
		got, err := s.Unreferenced(t.Context(), []string{"contents/1", "packs/1", "packs/2", "packs/3"})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "unreferenced", want, got)
	}
	free("packs/2", "packs/3")
	// 5 and 6 are in the tail.
	// Less than half of the pack stays, so it is sparse.
	sparse := func(want ...model.ContentKey) {
		t.Helper()
		b, err := s.Backlog(t.Context(), set.ID)
		if err != nil {
			t.Fatal(err)
		}
		var got []model.ContentKey
		for key, err := range s.Sparse(t.Context(), set.ID) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, key)
		}
		equal(t, "sparse content", want, got)
		if b.Sparse != (want != nil) {
			t.Errorf("the backlog says %v of sparse objects", b.Sparse)
		}
	}
	if err := s.Pack(t.Context(), copyOf(t, s, &objects, set.ID, "packs/0", 2)); err != nil {
		t.Fatal(err)
	}
	sparse(3, 4)
	checkClean(t, s)
	if err := s.Pack(t.Context(), copyOf(t, s, &objects, set.ID, "packs/2", 6, 5, 4, 3, 2)); err != nil {
		t.Fatal(err)
	}
	sparse()
	free("packs/1", "packs/3")
	checkClean(t, s)
	// The segment that holds 5 and 6 has nothing loose.
	commit(t, s, set.ID, record("urn:x:3", "T", "three"))
	p := packOf(t, s, &objects, set.ID, "packs/3", 1, 2)
	equal(t, "loose", []model.ContentKey{7}, keysOf(p))
	if err := s.Pack(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	db.exec(t, "UPDATE spent SET due = 1 WHERE set_id = ?", set.ID)
	for more := true; more; {
		var err error
		if more, err = s.Free(t.Context(), set.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Pack(t.Context(), copyOf(t, s, &objects, set.ID, "packs/4", 1)); err != nil {
		t.Fatal(err)
	}
	free("contents/1", "packs/1")
	for key, want := range []string{"in an object", "beside it", "one", "two", "three", "", "three"} {
		kept, err := s.OpenContent(t.Context(), set.ID, model.ContentKey(key+1))
		equal(t, fmt.Sprint("content ", key+1), want, readAll(t, kept, err))
	}
	checkClean(t, s)
}

// testJoined reads contents from the database, packs and objects of their own as
// one, while they move, and finds what was damaged.
func testJoined(t *testing.T, db Database) {
	var objects Objects
	s := open(t, db, func(c *store.Config) { c.Objects = &objects })
	set := newSet(t, s, "joined", 100)
	random := rand.New(rand.NewPCG(1, 2))
	const long = 90_000 // more than is verified when a part of it is read
	for i := range 250 {
		text := strings.Repeat(fmt.Sprint(i, " "), random.IntN(50))
		if i%100 == 30 {
			text = strings.Repeat("long", long/4)
		}
		commit(t, s, set.ID, record(fmt.Sprintf("urn:x:%d", i), "T", text))
	}
	if err := s.Pack(t.Context(), packOf(t, s, &objects, set.ID, "packs/1", 0, 1)); err != nil {
		t.Fatal(err)
	}
	var keys []model.ContentKey
	var want []byte
	for _, i := range append(random.Perm(250), 30, 31, 32, 33, 34, 35) { // some of them together, and twice
		key := model.ContentKey(i + 1)
		keys = append(keys, key)
		kept, err := s.OpenContent(t.Context(), set.ID, key)
		want = append(want, readAll(t, kept, err)...)
	}
	open := func() model.Kept {
		t.Helper()
		k, err := s.OpenContents(t.Context(), set.ID, keys)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { k.Close() })
		return k
	}
	joined := open()
	if joined.Size() != int64(len(want)) {
		t.Fatalf("%d bytes, want %d", joined.Size(), len(want))
	}
	read := func(off, n int) {
		t.Helper()
		got := make([]byte, n)
		k, err := joined.ReadAt(got, int64(off))
		if rest := len(want) - off; n > rest {
			if n = max(rest, 0); err != io.EOF {
				t.Errorf("after the end: %v", err)
			}
		} else if err != nil && err != io.EOF {
			t.Errorf("%d bytes at %d: %v", n, off, err)
		}
		if k != n || !bytes.Equal(got[:k], want[min(off, len(want)):][:n]) {
			t.Fatalf("%d bytes at %d: %d came, or others", n, off, k)
		}
	}
	readMany := func() {
		t.Helper()
		read(0, len(want))
		for range 100 {
			off := random.IntN(len(want) + 10)
			read(off, random.IntN(1000))
			read(off, random.IntN(2*long))
		}
	}
	readMany()

	// The rest is packed, and everything is copied to one object.
	if err := s.Pack(t.Context(), packOf(t, s, &objects, set.ID, "packs/2", 1, 2)); err != nil {
		t.Fatal(err)
	}
	db.exec(t, "UPDATE spent SET due = 1 WHERE set_id = ?", set.ID)
	for more := true; more; {
		var err error
		if more, err = s.Free(t.Context(), set.ID); err != nil {
			t.Fatal(err)
		}
	}
	read(0, len(want))
	begun, opened := joined, open()
	var all []model.ContentKey
	for key := range model.ContentKey(250) {
		all = append(all, 250-key)
	}
	if err := s.Pack(t.Context(), copyOf(t, s, &objects, set.ID, "packs/3", all...)); err != nil {
		t.Fatal(err)
	}
	objects.Remove("packs/1")
	objects.Remove("packs/2")
	for _, joined = range []model.Kept{begun, opened, open()} {
		readMany()
	}

	// A flipped byte is not served.
	p := places(t, s, set.ID, 31, 32)
	object := objects.Bytes("packs/3")
	for _, at := range []int64{p[0].Start + long/2, p[1].Start} {
		object[at]++
		if _, err := joined.ReadAt(make([]byte, len(want)), 0); err == nil {
			t.Error("damaged content was read")
		}
		object[at]--
	}
	for i, key := range []model.ContentKey{31, 32} {
		object[p[i].Start]++
		if _, err := s.OpenContent(t.Context(), set.ID, key); err == nil {
			t.Errorf("damaged content %d was opened", key)
		}
		object[p[i].Start]--
	}
	read(0, len(want))
	objects.Remove("packs/3")
	if _, err := open().ReadAt(make([]byte, 10), 0); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("without its object: %v", err)
	}
}
