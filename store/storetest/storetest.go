// Package storetest is the contract of the store, which every database must
// keep: [Run] holds it against one.
//
// The log that two stores write to the same database is compared with
// [modeltest.Log], the plain reading of the rules, at every position. Each step
// of a transaction is failed before and after it took effect. Every damage that
// the inner check shall find is done by SQL.
package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"sync"
	"testing"

	"gateway/model"
	"gateway/model/modeltest"
	"gateway/store"
)

// Database is a new, empty database.
type Database struct {
	// Config opens it; tests fill in the rest.
	Config store.Config
	// SQL is the database behind the store's back.
	SQL *sql.DB
}

func (db Database) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	result, err := db.SQL.ExecContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s: %d rows, %v", query, n, err)
	}
}

// Run holds the contract against the databases that fresh makes, one for each
// test.
func Run(t *testing.T, fresh func(t *testing.T) Database) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Database)
	}{
		{"history", testHistory},
		{"concurrent writers", testConcurrentWriters},
		{"unchanged", testUnchanged},
		{"identifiers", testIdentifiers},
		{"precondition", testPrecondition},
		{"document limits cut", testLimits},
		{"segment size from the next segment on", testSegmentSize},
		{"faults", testFaults},
		{"schema steps", testSchemaSteps},
		{"newer schema", testNewerSchema},
		{"sets", testSets},
		{"views", testViews},
		{"leases", testLeases},
		{"hold", testHold},
		{"publish", testPublish},
		{"a lease that ran out", testLeaseRunOut},
		{"snapshots", testSnapshots},
		{"backlog", testBacklog},
		{"epochs", testEpochs},
		{"content", testContent},
		{"packs", testPacks},
		{"faults of packs", testPackFaults},
		{"copies", testCopies},
		{"joined contents", testJoined},
		{"packages", testPackages},
		{"reservations", testReservations},
		{"old tokens", testOldTokens},
		{"check", testCheck},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, fresh(t))
		})
	}
}

const (
	atom = "atom-pmh"
	rs   = "resourcesync-1.1"
)

// open opens db with the usual configuration, after the given changes to it.
func open(t *testing.T, db Database, change ...func(*store.Config)) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), config(db, change...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func config(db Database, change ...func(*store.Config)) store.Config {
	c := db.Config
	c.Renderers = []string{atom, rs}
	for _, f := range change {
		f(&c)
	}
	return c
}

// newSet creates a set with segments of the given size.
func newSet(t *testing.T, s *store.Store, name string, size int) model.Set {
	t.Helper()
	policy := model.DefaultPolicy()
	policy.SegmentSize = size
	set, err := s.CreateSet(t.Context(), model.Set{Name: name, Title: "The " + name + " set", Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// record is a live record with one resource for each text.
func record(id, title string, texts ...string) model.Incoming {
	in := model.Incoming{Record: model.Record{Identifier: id, State: model.State{Title: title}}}
	for i, text := range texts {
		in.Record.Resources = append(in.Record.Resources, modeltest.Text(model.Representation, fmt.Sprintf("r%d.txt", i), "text/plain", text))
		in.Bodies = append(in.Bodies, model.Body{Bytes: []byte(text)})
	}
	return in
}

func deleted(id string) model.Incoming {
	return model.Incoming{Record: model.Record{Identifier: id, Deleted: true}}
}

// commit commits the batch and fails the test on any error.
func commit(t *testing.T, s *store.Store, set model.SetID, batch ...model.Incoming) store.Committed {
	t.Helper()
	done, err := s.Commit(t.Context(), set, batch, store.CommitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range done.Outcomes {
		if o.Err != nil {
			t.Fatalf("record %d: %v", i, o.Err)
		}
	}
	return done
}

// logOf reads the whole log.
func logOf(t *testing.T, s *store.Store, set model.SetID) []*model.Change {
	t.Helper()
	return changes(t, s, set, 0, 1<<40)
}

func changes(t *testing.T, s *store.Store, set model.SetID, after, last model.Position) []*model.Change {
	t.Helper()
	var all []*model.Change
	for c, err := range s.Changes(t.Context(), set, after, last) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, clone(c))
	}
	return all
}

// clone copies what an iteration lends.
func clone(c *model.Change) *model.Change {
	k := *c
	k.Collections = append([]string(nil), c.Collections...)
	k.Links = append([]model.Link(nil), c.Links...)
	k.Resources = append([]model.Resource(nil), c.Resources...)
	k.Dropped = append([]model.Dropped(nil), c.Dropped...)
	return &k
}

// view reads the set as a store without a shared view of it would.
func view(t *testing.T, s *store.Store, set model.Set) model.View {
	t.Helper()
	b, err := s.Backlog(t.Context(), set.ID)
	if err != nil {
		t.Fatal(err)
	}
	return b.View
}

// checkClean runs the inner check, which must find nothing.
func checkClean(t *testing.T, s *store.Store) {
	t.Helper()
	for _, p := range problems(t, s) {
		t.Errorf("check: %v", p)
	}
}

func problems(t *testing.T, s *store.Store) []store.Problem {
	t.Helper()
	var found []store.Problem
	if err := s.Check(t.Context(), func(p store.Problem) { found = append(found, p) }); err != nil {
		t.Fatalf("check: %v", err)
	}
	return found
}

// Objects is an object store in memory.
type Objects struct {
	mu      sync.Mutex
	objects map[string][]byte
}

// Put creates an object.
func (o *Objects) Put(key string, b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.objects == nil {
		o.objects = map[string][]byte{}
	}
	o.objects[key] = b
}

// Bytes are those of an object, to be damaged.
func (o *Objects) Bytes(key string) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.objects[key]
}

// Remove removes one.
func (o *Objects) Remove(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.objects, key)
}

// Open implements [store.Objects].
func (o *Objects) Open(_ context.Context, key string) (model.Kept, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, ok := o.objects[key]
	if !ok {
		return nil, fmt.Errorf("object %s: %w", key, model.ErrNotFound)
	}
	return object{bytes.NewReader(b)}, nil
}

type object struct{ *bytes.Reader }

func (object) Close() error { return nil }

// document is a stored document with the given text; its object is put into o.
func document(o *Objects, path, text string, snapshot model.SnapshotNumber) model.Document {
	b := []byte(text)
	sum := sha256.Sum256(b)
	key := fmt.Sprintf("documents/%x", sum)
	o.Put(key, b)
	content := modeltest.ContentOf(text)
	content.MD5 = [16]byte{}
	return model.Document{Path: path, Type: "application/xml", Object: key, Content: content, Snapshot: snapshot, LastModified: modeltest.Start}
}

func readAll(t *testing.T, k model.Kept, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	b, err := io.ReadAll(io.NewSectionReader(k, 0, k.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
