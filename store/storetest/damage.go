package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gateway/model"
	"gateway/store"
)

// movingObjects moves an object at the moment it is opened first.
type movingObjects struct {
	*Objects
	move func()
}

func (o *movingObjects) Open(ctx context.Context, key string) (model.Kept, error) {
	if o.move != nil {
		o.move()
		o.move = nil
	}
	return o.Objects.Open(ctx, key)
}

// testCheck does damage of every kind, each to a set of its own, and wants it
// found there and nowhere else.
func testCheck(t *testing.T, db Database) {
	var objects Objects
	s := open(t, db, func(c *store.Config) { c.Objects = &objects })
	damages := []struct {
		where, what string // of the problem
		statement   string // its parameter is the set
	}{
		{"change 3", "the position before it is 1", "DELETE FROM changes WHERE set_id = ? AND position = 2"},
		{"log", "it ends at position 5", "DELETE FROM changes WHERE set_id = ? AND position = 6"},
		{"change 2", "not after", "UPDATE changes SET time = time - 1000000000 WHERE set_id = ? AND position = 2"},
		{"change 6", "came before it", "UPDATE changes SET previous = 2 WHERE set_id = ? AND position = 6"},
		{"change 2", "body", "UPDATE changes SET body = 'x' WHERE set_id = ? AND position = 2"},
		{"change 6", "it says created after updated", "UPDATE changes SET kind = 1 WHERE set_id = ? AND position = 6"},
		{"change 3", "it is of record 77", "UPDATE changes SET record = 77 WHERE set_id = ? AND position = 3"},
		{"segment 2", "missing", "DELETE FROM segments WHERE set_id = ? AND number = 2"},
		{"segment 1", "its last change is of", "UPDATE segments SET until_time = until_time + 1 WHERE set_id = ? AND number = 1"},
		{"segment 2", "it begins at", "UPDATE segments SET from_time = from_time + 1 WHERE set_id = ? AND number = 2"},
		{"segment 2", "it holds the positions", "UPDATE segments SET first_position = 4 WHERE set_id = ? AND number = 2"},
		{"segment 2", "after the end of the log", "UPDATE segments SET last_position = 9 WHERE set_id = ? AND number = 2"},
		{"record 1", "differs from change", "UPDATE records SET body = 'x' WHERE set_id = ? AND number = 1"},
		{"record 2", "the log says", "UPDATE records SET position = 4 WHERE set_id = ? AND number = 2"},
		{"record 3", "its row is missing", "DELETE FROM records WHERE set_id = ? AND number = 3"},
		{"record 3", "cannot be found", "UPDATE records SET id_hash = 'x' WHERE set_id = ? AND number = 3"},
		{"head", "it counts", "UPDATE heads SET created = created + 1 WHERE set_id = ?"},
		{"head", "live records", "UPDATE heads SET records = records + 1 WHERE set_id = ?"},
		{"head", "live records", "UPDATE heads SET bytes = bytes + 1 WHERE set_id = ?"},
		{"head", "its time", "UPDATE heads SET time = time + 1 WHERE set_id = ?"},
		{"head", "content keys", "UPDATE heads SET content_keys = content_keys + 1 WHERE set_id = ?"},
		{"head", "record numbers", "UPDATE heads SET numbers = numbers + 1 WHERE set_id = ?"},
		{"head", "its tail", "UPDATE heads SET tail_changes = tail_changes + 1 WHERE set_id = ?"},
		{"head", "last cut", "UPDATE heads SET boundary = boundary + 1 WHERE set_id = ?"},
		{"head", "never look at it", "UPDATE heads SET due = NULL WHERE set_id = ?"},
		{"head", "missing", "DELETE FROM heads WHERE set_id = ?"},
		{"head", "epoch", "DELETE FROM epochs WHERE set_id = ? AND number = 1"},
		{"renderer " + atom, "it has published segment 9", "UPDATE positions SET segment = 9 WHERE set_id = ? AND renderer = '" + atom + "'"},
		{"snapshot 1", "missing", "DELETE FROM snapshots WHERE set_id = ? AND number = 1"},
		{"snapshot 1", "the head is at", "UPDATE snapshots SET position = 9 WHERE set_id = ? AND number = 1"},
		{"change 3, r0.txt", "not found", "DELETE FROM content_bytes WHERE set_id = ? AND content_key = 3"},
		{"change 3, r0.txt", "are kept, want", "UPDATE content_bytes SET bytes = 'longer than it was' WHERE set_id = ? AND content_key = 3"},
		{"change 2, r0.txt", "SHA-256", "UPDATE content_bytes SET bytes = 'urn:y:1' WHERE set_id = ? AND content_key = 2"},
		{"change 1, r0.txt", "damaged", "UPDATE objects SET object = 'packs/damaged' WHERE set_id = ?"},
		{"change 1, r0.txt", "not found", "UPDATE objects SET object = 'packs/nowhere' WHERE set_id = ?"},
		{"object packs/nowhere", "missing", "UPDATE objects SET object = 'packs/nowhere' WHERE set_id = ?"},
		{"object packs/damaged", "it has 14 bytes, want 15", "UPDATE objects SET object = 'packs/damaged', size = 15 WHERE set_id = ?"},
		{"object packs/damaged", "after its end", "UPDATE objects SET object = 'packs/damaged', size = 13 WHERE set_id = ?"},
		{"object packs/damaged", "counts", "UPDATE objects SET object = 'packs/damaged', contents = 3 WHERE set_id = ?"},
		{"object packs/damaged", "counts", "UPDATE objects SET object = 'packs/damaged', stored = 3 WHERE set_id = ?"},
		{"object 1", "its row is missing", "DELETE FROM objects WHERE set_id = ?"},
		{"places of contents from 1", "malformed", "UPDATE places SET entries = 'x' WHERE set_id = ?"},
		{"content 1", "no place", "DELETE FROM places WHERE set_id = ?"},
		{"head", "does not say when they go", "UPDATE heads SET spent = 0, due = 1 WHERE set_id = ?"},
		{"head", "more than half", "UPDATE objects SET stored = 3 WHERE set_id = ?"},
		{"spent bytes", "of the contents 1 to 9, of 5", "UPDATE spent SET last_key = 9 WHERE set_id = ?"},
		{"renderer packs", "it has published segment 9", "UPDATE positions SET segment = 9 WHERE set_id = ? AND renderer = 'packs'"},
		{"package /p", "its manifest /nowhere", "UPDATE packages SET manifest = '/nowhere' WHERE set_id = ?"},
		{"package /p", "too few", "UPDATE packages SET size = 5 WHERE set_id = ?"},
		{"package /p", "of segment 9", "UPDATE packages SET segment = 9 WHERE set_id = ?"},
		{"package /p", "snapshot 7", "UPDATE packages SET snapshot = 7 WHERE set_id = ?"},
		{"package /p", "layout", "UPDATE packages SET layout = 0 WHERE set_id = ?"},
		{"document /d", "not found", "UPDATE documents SET object = 'nowhere' WHERE set_id = ?"},
		{"document /d", "SHA-256", "UPDATE documents SET sha256 = 'x' WHERE set_id = ?"},
		{"document /d", "CRC-32", "UPDATE documents SET crc32 = crc32 + 1 WHERE set_id = ?"},
		{"document /d", "length", "UPDATE documents SET length = length + 1 WHERE set_id = ?"},
	}
	for i := range damages {
		damaged(t, s, &objects, i)
	}
	objects.Put("packs/damaged", []byte("urn:X:0urn:x:1"))
	checkClean(t, s)
	for i, damage := range damages {
		set, err := s.Set(t.Context(), fmt.Sprint("damaged", i))
		if err != nil {
			t.Fatal(err)
		}
		db.exec(t, damage.statement, set.ID)
	}
	found := map[string][]store.Problem{}
	for _, p := range problems(t, s) {
		found[p.Set] = append(found[p.Set], p)
	}
	for i, damage := range damages {
		hit := false
		for _, p := range found[fmt.Sprint("damaged", i)] {
			hit = hit || p.Where == damage.where && strings.Contains(p.What, damage.what)
		}
		if !hit {
			t.Errorf("after %s\nwant %s: …%s…\ngot %v", damage.statement, damage.where, damage.what, found[fmt.Sprint("damaged", i)])
		}
	}
}

// damaged makes the set that damage i is done to: four records, six changes in
// segments of two and four, the first of them
// packed, an empty tail, one document, one package and one snapshot.
func damaged(t *testing.T, s *store.Store, objects *Objects, i int) {
	t.Helper()
	set := newSet(t, s, fmt.Sprint("damaged", i), 2)
	for n := range 3 {
		id := fmt.Sprint("urn:x:", n)
		commit(t, s, set.ID, record(id, "T", id))
	}
	err := s.Publish(t.Context(), model.Publication{
		Set: set.ID, Epoch: 1, Advances: []model.Advance{{Renderer: atom, From: 0, To: 1}},
		Documents: []model.Document{document(objects, "/d", "text", 0)},
		Packages:  []model.Package{{Path: "/p", Manifest: "/d", Segment: 1, Layout: 1, Members: 2, Size: 1000}},
		Snapshot:  &model.Snapshot{Number: 1, Epoch: 1, Position: 3, At: set.Created + 5, Parts: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Pack(t.Context(), packOf(t, s, objects, set.ID, fmt.Sprint("packs/", i), 0, 1)); err != nil {
		t.Fatal(err)
	}
	commit(t, s, set.ID, record("urn:x:1", "Other", "other"), record("urn:x:3", "T", "x"), deleted("urn:x:1"))
}
