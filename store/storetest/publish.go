package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gateway/model"
	"gateway/model/modeltest"
	"gateway/store"
)

// filled is a set with five changes in segments of two.
func filled(t *testing.T, s *store.Store, name string) model.Set {
	t.Helper()
	set := newSet(t, s, name, 2)
	for i := range 5 {
		commit(t, s, set.ID, record(fmt.Sprintf("urn:x:%d", i), "T", "a"))
	}
	return set
}

// testPublish lets the publisher that comes second change nothing.
func testPublish(t *testing.T, db Database) {
	var objects Objects
	s := open(t, db, func(c *store.Config) { c.Objects = &objects })
	set := filled(t, s, "publish")
	first := document(&objects, "/atom/publish/1/archive/1", "one", 0)
	second := document(&objects, "/atom/publish/1/archive/2", "two", 0)
	publication := model.Publication{
		Set: set.ID, Epoch: 1, Holder: "a", Documents: []model.Document{first},
		Advances: []model.Advance{{Renderer: atom, From: 0, To: 1}},
	}
	moved := func(what string, p model.Publication) {
		t.Helper()
		before := view(t, s, set)
		if err := s.Publish(t.Context(), p); !errors.Is(err, model.ErrHeadMoved) {
			t.Errorf("%s: %v, want that another was faster", what, err)
		}
		equal(t, what+": view", before, view(t, s, set))
		for _, d := range p.Documents {
			if _, err := s.Document(t.Context(), set.ID, d.Path); d.Path != first.Path && !errors.Is(err, model.ErrNotFound) {
				t.Errorf("%s: document %s: %v", what, d.Path, err)
			}
		}
	}
	moved("without the lease", publication)
	if _, err := s.Lease(t.Context(), set.ID, "a", time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(t.Context(), publication); err != nil {
		t.Fatal(err)
	}
	got, err := s.Document(t.Context(), set.ID, first.Path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "document", first, got)
	if _, err := s.Document(t.Context(), set.ID, first.Path+" "); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("another path: %v", err)
	}

	stale := publication
	stale.Documents = []model.Document{second}
	moved("a stale position", stale)
	stale.Advances = []model.Advance{{Renderer: atom, From: 1, To: 2}, {Renderer: rs, From: 1, To: 2}}
	moved("one stale position of two", stale)
	stale.Advances, stale.Epoch = nil, 2
	moved("another epoch", stale)
	stale.Epoch, stale.Holder = 1, "b"
	moved("another holder", stale)

	publication.Advances, publication.Documents, publication.Release = []model.Advance{{Renderer: atom, From: 1, To: 2}, {Renderer: rs, From: 0, To: 2}}, []model.Document{first, second}, true
	if err := s.Publish(t.Context(), publication); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Lease(t.Context(), set.ID, "b", time.Hour); err != nil || !ok {
		t.Errorf("the lease was not released: %v, %v", ok, err)
	}
	other := first
	other.Content.SHA256[0]++
	if err := s.Publish(t.Context(), model.Publication{Set: set.ID, Epoch: 1, Documents: []model.Document{other}}); err == nil {
		t.Error("a published document was replaced")
	}
	if err := s.Publish(t.Context(), model.Publication{Set: set.ID, Epoch: 1, Advances: []model.Advance{{Renderer: rs, From: 2, To: 3}}}); err == nil {
		t.Error("a segment was published that is not cut")
	}
	checkClean(t, s)
}

// testSnapshots publishes snapshots of one part and of several, supersedes and
// expires them.
func testSnapshots(t *testing.T, db Database) {
	var objects Objects
	s := open(t, db, func(c *store.Config) { c.Objects = &objects })
	set := filled(t, s, "snapshots")
	publish := func(p model.Publication) error {
		t.Helper()
		p.Set, p.Epoch = set.ID, 1
		return s.Publish(t.Context(), p)
	}
	snapshot := func(n model.SnapshotNumber, p model.Position, parts int) *model.Snapshot {
		return &model.Snapshot{Number: n, Epoch: 1, Position: p, At: set.Created + model.Time(n), Parts: parts, Resources: int64(p)}
	}
	path := func(n, part int) string { return fmt.Sprintf("/rs/snapshots/1/resourcelist/%d/%d.xml", n, part) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(publish(model.Publication{Snapshot: snapshot(1, 2, 1), Documents: []model.Document{document(&objects, path(1, 1), "1/1", 1)}}))
	equal(t, "snapshot 1", *snapshot(1, 2, 1), view(t, s, set).Snapshot)
	for _, n := range []*model.Snapshot{snapshot(1, 2, 1), snapshot(1, 5, 1)} {
		if err := publish(model.Publication{Snapshot: n}); !errors.Is(err, model.ErrHeadMoved) {
			t.Errorf("snapshot 1 again: %v", err)
		}
	}

	part := func(number int, last model.RecordNumber) model.Publication {
		return model.Publication{
			Rendering: &model.RenderingSnapshot{Snapshot: *snapshot(2, 5, number), LastRecord: last},
			Documents: []model.Document{document(&objects, path(2, number), fmt.Sprint("2/", number), 2)},
		}
	}
	must(publish(part(1, 2)))
	must(publish(part(2, 4)))
	if err := publish(part(2, 4)); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("part 2 again: %v", err)
	}
	if err := publish(model.Publication{Snapshot: snapshot(2, 4, 1)}); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("a snapshot of another position than the one being made: %v", err)
	}
	b, err := s.Backlog(t.Context(), set.ID)
	must(err)
	equal(t, "rendering", &model.RenderingSnapshot{Snapshot: *snapshot(2, 5, 2), LastRecord: 4}, b.Rendering)
	equal(t, "snapshot 1", *snapshot(1, 2, 1), b.View.Snapshot)

	must(publish(model.Publication{Snapshot: snapshot(2, 5, 3), Documents: []model.Document{document(&objects, path(2, 3), "2/3", 2)}}))
	b, err = s.Backlog(t.Context(), set.ID)
	must(err)
	equal(t, "snapshot 2", *snapshot(2, 5, 3), b.View.Snapshot)
	if b.Rendering != nil || len(b.Superseded) != 1 || b.Superseded[0].Number != 1 || b.Superseded[0].Superseded == 0 {
		t.Errorf("after snapshot 2: rendering %v, superseded %+v", b.Rendering, b.Superseded)
	}
	must(publish(model.Publication{Expire: []model.SnapshotNumber{1, 2}})) // 2 is not superseded
	b, err = s.Backlog(t.Context(), set.ID)
	must(err)
	if len(b.Superseded) != 0 || b.View.Snapshot.Number != 2 {
		t.Errorf("after expiry: %+v, superseded %+v", b.View.Snapshot, b.Superseded)
	}
	if _, err := s.Document(t.Context(), set.ID, path(1, 1)); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("a document of an expired snapshot: %v", err)
	}
	if _, err := s.Document(t.Context(), set.ID, path(2, 1)); err != nil {
		t.Errorf("a document of the newest snapshot: %v", err)
	}
	checkClean(t, s)
}

// testBacklog asks for work when there is some, and not before.
func testBacklog(t *testing.T, db Database) {
	now := time.Now()
	var objects Objects
	s := open(t, db, func(c *store.Config) { c.Objects, c.Now = &objects, func() time.Time { return now } })
	policy := model.DefaultPolicy()
	policy.SegmentSize, policy.SnapshotInterval, policy.SnapshotChanges, policy.SegmentAge = 2, 0, 0, model.Duration(time.Hour)
	set, err := s.CreateSet(t.Context(), model.Set{Name: "backlog", Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	due := func(want ...model.SetID) {
		t.Helper()
		got, err := s.Due(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "due sets", want, got)
	}
	due()
	done := commit(t, s, set.ID, record("urn:x:1", "One", "a"))
	due() // a tail waits for its age
	if done.Waiting != 0 {
		t.Errorf("%d segments wait, want none", done.Waiting)
	}
	b, err := s.Backlog(t.Context(), set.ID)
	if err != nil {
		t.Fatal(err)
	}
	if want := b.View.Head.Changed; b.Tail != want || b.SealDue() != want+3_600_000_000 {
		t.Errorf("tail %v, to be sealed %v; the change was at %v", b.Tail, b.SealDue(), want)
	}
	done = commit(t, s, set.ID, record("urn:x:2", "Two", "a"), record("urn:x:3", "Three", "a"), record("urn:x:4", "Four", "a"))
	if done.Waiting != 2 {
		t.Errorf("%d segments wait, want 2", done.Waiting)
	}
	due(set.ID)
	publish := func(renderer string, from, to model.SegmentNumber) {
		t.Helper()
		p := model.Publication{Set: set.ID, Epoch: 1, Advances: []model.Advance{{Renderer: renderer, From: from, To: to}}}
		if err := s.Publish(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	publish(atom, 0, 2)
	due(set.ID)
	publish(rs, 0, 1)
	if b, err = s.Backlog(t.Context(), set.ID); err != nil {
		t.Fatal(err)
	}
	equal(t, "positions", map[string]model.SegmentNumber{atom: 2, rs: 1}, b.Positions)
	if b.View.Published.Number != 1 || b.View.Next == nil || b.View.Next.Number != 2 {
		t.Errorf("the slowest has %+v, then %+v", b.View.Published, b.View.Next)
	}
	publish(rs, 1, 2)
	due(set.ID) // to be packed
	if err := s.Pack(t.Context(), packOf(t, s, &objects, set.ID, "packs/1", 0, 2)); err != nil {
		t.Fatal(err)
	}
	due()
	db.exec(t, "UPDATE heads SET spent = 1 WHERE set_id = ?", set.ID)
	db.exec(t, "UPDATE spent SET due = 1 WHERE set_id = ?", set.ID)
	if _, err := s.UpdateSet(t.Context(), set.Name, func(*model.Set) error { return nil }); err != nil {
		t.Fatal(err)
	}
	due(set.ID) // database bytes are spent
	if _, err := s.Free(t.Context(), set.ID); err != nil {
		t.Fatal(err)
	}
	due()
	if _, err := s.UpdateSet(t.Context(), set.Name, func(set *model.Set) error { return set.Policy.Set("snapshot_changes", "3") }); err != nil {
		t.Fatal(err)
	}
	due(set.ID) // four changes since the empty snapshot
	snapshot := &model.Snapshot{Number: 1, Epoch: 1, Position: 4, At: b.View.Head.Time, Parts: 1, Resources: 4}
	if err := s.Publish(t.Context(), model.Publication{Set: set.ID, Epoch: 1, Snapshot: snapshot}); err != nil {
		t.Fatal(err)
	}
	due()

	// A program with another renderer has work in sets that nobody writes to.
	more := open(t, db, func(c *store.Config) { c.Renderers = append(c.Renderers, "another") })
	if got, err := more.Due(t.Context(), 10); err != nil || len(got) != 1 {
		t.Errorf("due for another renderer: %v, %v", got, err)
	}
}

// testEpochs opens an epoch: its renderers start over and the old one's
// publications are over.
func testEpochs(t *testing.T, db Database) {
	var objects Objects
	s := open(t, db, func(c *store.Config) { c.Objects = &objects })
	set := filled(t, s, "epochs")
	old := document(&objects, "/atom/epochs/1/archive/1", "one", 0)
	snapshot := &model.Snapshot{Number: 1, Epoch: 1, Position: 5, At: set.Created + 9, Parts: 1, Resources: 5}
	err := s.Publish(t.Context(), model.Publication{
		Set: set.ID, Epoch: 1, Documents: []model.Document{old}, Snapshot: snapshot,
		Advances: []model.Advance{{Renderer: atom, From: 0, To: 2}, {Renderer: rs, From: 0, To: 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	before := view(t, s, set)
	if err := s.SetBaseURL(t.Context(), "https://new.example", true); err != nil {
		t.Fatal(err)
	}
	epoch, err := s.OpenEpoch(t.Context(), set.ID, "rebase")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "epoch", model.Epoch{Number: 2, Reason: "rebase", BaseURL: "https://new.example", From: set.Created, Began: epoch.Began}, epoch)
	if again, err := s.OpenEpoch(t.Context(), set.ID, "rebase"); err != nil || again != epoch {
		t.Errorf("an epoch at the same base URL: %+v, %v", again, err)
	}
	if epoch.Began <= before.Epoch.Began {
		t.Errorf("it began at %v, the one before it at %v", epoch.Began, before.Epoch.Began)
	}
	v, err := s.View(t.Context(), set.Name, atom)
	if err != nil {
		t.Fatal(err)
	}
	if v.Ready || v.Published.Number != 0 || v.Next == nil || v.Next.Number != 1 || v.Revision <= before.Revision {
		t.Errorf("after the epoch: %+v", v)
	}
	equal(t, "its snapshot", model.Snapshot{Epoch: 2, At: set.Created}, v.Snapshot)
	equal(t, "its epoch", epoch, v.Epoch)
	equal(t, "head", before.Head, v.Head)
	if due, err := s.Due(t.Context(), 10); err != nil || len(due) != 1 {
		t.Errorf("due: %v, %v", due, err)
	}
	again := document(&objects, "/atom/epochs/2/archive/1", "one at the new place", 0)
	snapshot.Epoch = 2
	err = s.Publish(t.Context(), model.Publication{
		Set: set.ID, Epoch: 2, Documents: []model.Document{again}, Snapshot: snapshot, Ready: true,
		Advances: []model.Advance{{Renderer: atom, From: 0, To: 2}, {Renderer: rs, From: 0, To: 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if v, err = s.View(t.Context(), set.Name, atom); err != nil || !v.Ready || v.Published.Number != 2 {
		t.Errorf("after publishing: %+v, %v", v, err)
	}
	if _, err := s.Document(t.Context(), set.ID, old.Path); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("a document of the former epoch: %v", err)
	}
	free, err := s.Unreferenced(t.Context(), []string{old.Object, again.Object})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "unreferenced", []string{old.Object}, free)
	checkClean(t, s)
}

// testContent keeps small content in the database, finds large content in its
// object, and follows content that is moved while it is looked for.
func testContent(t *testing.T, db Database) {
	var objects Objects
	s := open(t, db, func(c *store.Config) { c.Objects = &objects })
	set := newSet(t, s, "content", 10)
	large := record("urn:x:large", "Large", "in an object", "in the database", "")
	large.Bodies[0] = model.Body{Object: "contents/1"}
	objects.Put("contents/1", []byte("in an object"))
	if err := s.ReserveObject(t.Context(), set.ID, "contents/1", time.Hour); err != nil {
		t.Fatal(err)
	}
	commit(t, s, set.ID, large)
	text := func(key model.ContentKey) string {
		t.Helper()
		kept, err := s.OpenContent(t.Context(), set.ID, key)
		return readAll(t, kept, err)
	}
	for key, want := range []string{"in an object", "in the database", ""} {
		if got := text(model.ContentKey(key + 1)); got != want {
			t.Errorf("content %d is %q, want %q", key+1, got, want)
		}
	}
	if _, err := s.OpenContent(t.Context(), set.ID, 9); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("unknown content: %v", err)
	}

	// Into a pack, and into another one: the object that was named is gone when
	// it is opened.
	if err := s.Pack(t.Context(), copyOf(t, s, &objects, set.ID, "packs/1", 3, 2)); err != nil {
		t.Fatal(err)
	}
	db.exec(t, "DELETE FROM content_bytes WHERE set_id = ?", set.ID)
	if got := text(2); got != "in the database" {
		t.Errorf("packed content is %q", got)
	}
	moving := &movingObjects{Objects: &objects, move: func() {
		if err := s.Pack(t.Context(), copyOf(t, s, &objects, set.ID, "packs/2", 1, 2, 3)); err != nil {
			t.Error(err)
		}
		objects.Remove("packs/1")
	}}
	other := open(t, db, func(c *store.Config) { c.Objects = moving })
	kept, err := other.OpenContent(t.Context(), set.ID, 2)
	if got := readAll(t, kept, err); got != "in the database" {
		t.Errorf("moved content is %q", got)
	}
	checkClean(t, s)

	short := record("urn:x:short", "Short", "text")
	short.Bodies[0].Bytes = []byte("tex")
	if _, err := s.Commit(t.Context(), set.ID, []model.Incoming{short}, store.CommitOptions{}); err == nil {
		t.Error("content came in that is shorter than it says")
	}
}

// testReservations keeps an object from its reservation to its reference, and
// refuses one that may be gone.
func testReservations(t *testing.T, db Database) {
	now := time.Now()
	var objects Objects
	s := open(t, db, func(c *store.Config) {
		c.Objects = &objects
		if c.Database == "" { // the database's clock is the process's
			c.Now = func() time.Time { return now }
		}
	})
	set := newSet(t, s, "reservations", 10)
	incoming := func(id, object string) model.Incoming {
		in := record(id, "T", "text")
		in.Bodies[0] = model.Body{Object: object}
		objects.Put(object, []byte("text"))
		return in
	}
	free := func(want ...string) {
		t.Helper()
		got, err := s.Unreferenced(t.Context(), []string{"o/1", "o/2", "o/3", "o/4"})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "unreferenced", want, got)
	}
	reserve := func(object string, d time.Duration) {
		t.Helper()
		if err := s.ReserveObject(t.Context(), set.ID, object, d); err != nil {
			t.Fatal(err)
		}
	}
	reserve("o/1", time.Hour)
	reserve("o/2", time.Hour)
	reserve("o/3", -time.Hour)
	free("o/3", "o/4")
	done, err := s.Commit(t.Context(), set.ID, []model.Incoming{
		incoming("urn:x:1", "o/1"), incoming("urn:x:2", "o/1"), incoming("urn:x:3", "o/3"), incoming("urn:x:4", "o/4"),
	}, store.CommitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, rejected := range []bool{false, false, true, true} {
		if o := done.Outcomes[i]; errors.Is(o.Err, model.ErrPrecondition) != rejected {
			t.Errorf("record %d: %+v", i+1, o)
		}
	}
	reserve("o/2", -time.Hour)
	free("o/2", "o/3", "o/4") // o/1 is referenced
	d := modeltest.ContentOf("text")
	objects.Put("o/2", []byte("text"))
	document := model.Document{Path: "/x", Type: "text/plain", Object: "o/2", Content: d}
	if err := s.Publish(t.Context(), model.Publication{Set: set.ID, Epoch: 1, Documents: []model.Document{document}}); err != nil {
		t.Fatal(err)
	}
	free("o/3", "o/4")
	checkClean(t, s)
}

// testPackages publishes packages, finds them in order, and lets them go with
// their snapshot and their epoch.
func testPackages(t *testing.T, db Database) {
	s := open(t, db)
	set := filled(t, s, "packages")
	dump := func(n model.SnapshotNumber, first, last model.RecordNumber) model.Package {
		return model.Package{
			Path: fmt.Sprintf("/rs/packages/1/dump/%d/%d.zip", n, first), Manifest: "/m", Snapshot: n, Position: 5, First: first, Last: last,
			Layout: 1, Members: 2, Size: 1000, Digest: [32]byte{byte(n), byte(first)}, LastModified: modeltest.Start,
		}
	}
	change := func(n model.SegmentNumber) model.Package {
		p := dump(0, 0, 0)
		p.Path, p.Segment = fmt.Sprintf("/rs/packages/1/changedump/%d.zip", n), n
		return p
	}
	publish := func(p model.Publication) {
		t.Helper()
		p.Set, p.Epoch = set.ID, 1
		if err := s.Publish(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := func(n model.SnapshotNumber) *model.Snapshot {
		return &model.Snapshot{Number: n, Epoch: 1, Position: 5, At: set.Created + 9, Parts: 1, Resources: 5}
	}
	publish(model.Publication{Snapshot: snapshot(1), Packages: []model.Package{dump(1, 10, 11), dump(1, 0, 9), change(2), change(1)}})
	publish(model.Publication{Snapshot: snapshot(2), Packages: []model.Package{dump(2, 0, 11), change(2)}})
	dumps := func(n model.SnapshotNumber, want ...model.Package) {
		t.Helper()
		got, err := s.SnapshotPackages(t.Context(), set.ID, 1, n)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Errorf("snapshot %d has %d packages, want %d", n, len(got), len(want))
			return
		}
		for i := range want {
			equal(t, "package", want[i], got[i])
		}
	}
	dumps(1, dump(1, 0, 9), dump(1, 10, 11))
	dumps(2, dump(2, 0, 11))
	for after, want := range [][]model.Package{{change(1)}, {change(2)}, nil} {
		got, err := s.SegmentPackages(t.Context(), set.ID, 1, model.SegmentNumber(after), 1)
		if err != nil || len(got) != len(want) || len(want) > 0 && got[0] != want[0] {
			t.Errorf("packages after segment %d: %v, %v", after, got, err)
		}
	}
	got, err := s.Package(t.Context(), set.ID, change(2).Path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "package", change(2), got)
	other := change(2)
	other.Digest[5]++
	if err := s.Publish(t.Context(), model.Publication{Set: set.ID, Epoch: 1, Packages: []model.Package{other}}); err == nil {
		t.Error("a published package was replaced")
	}
	publish(model.Publication{Expire: []model.SnapshotNumber{1}})
	dumps(1)
	dumps(2, dump(2, 0, 11))
	if _, err := s.Package(t.Context(), set.ID, dump(1, 0, 9).Path); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("a package of an expired snapshot: %v", err)
	}
	if err := s.SetBaseURL(t.Context(), "https://new.example", true); err != nil {
		t.Fatal(err)
	}
	if _, err := s.OpenEpoch(t.Context(), set.ID, "rebase"); err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(t.Context(), model.Publication{Set: set.ID, Epoch: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Package(t.Context(), set.ID, change(2).Path); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("a package of a former epoch: %v", err)
	}
}

// testLeaseRunOut lets a turn that takes longer than its lease publish and pack,
// unless another publisher has begun one meanwhile.
func testLeaseRunOut(t *testing.T, db Database) {
	var objects Objects
	s := open(t, db, func(c *store.Config) { c.Objects = &objects })
	set := filled(t, s, "slow")
	lease := func(holder string) {
		t.Helper()
		if ok, err := s.Lease(t.Context(), set.ID, holder, time.Hour); err != nil || !ok {
			t.Fatalf("lease for %s: %v, %v", holder, ok, err)
		}
	}
	runOut := func() { db.exec(t, "UPDATE leases SET until_time = 1 WHERE set_id = ?", set.ID) }
	advance := func(from model.SegmentNumber) error {
		return s.Publish(t.Context(), model.Publication{Set: set.ID, Epoch: 1, Holder: "a",
			Advances: []model.Advance{{Renderer: atom, From: from, To: from + 1}}})
	}
	lease("a")
	runOut()
	if err := advance(0); err != nil {
		t.Fatalf("publish after the lease ran out: %v", err)
	}
	if b, err := s.Backlog(t.Context(), set.ID); err != nil || b.Holder != "a" {
		t.Errorf("publishing did not extend the lease: it is %q's, %v", b.Holder, err)
	}
	runOut()
	p := packOf(t, s, &objects, set.ID, "packs/slow", 0, 1)
	p.Holder = "a"
	if err := s.Pack(t.Context(), p); err != nil {
		t.Errorf("pack after the lease ran out: %v", err)
	}
	runOut()
	lease("b")
	if err := advance(1); !errors.Is(err, model.ErrHeadMoved) {
		t.Errorf("publish beside another holder: %v", err)
	}
}
