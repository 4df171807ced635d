package store_test

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gateway/model"
	"gateway/store"
)

// TestBusy lets another process keep the write lock of SQLite while a commit
// asks for it again and again.
func TestBusy(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	dir := memoryDir(t)
	s, err := store.Open(t.Context(), store.Config{Dir: dir, Fault: func(step string) error {
		if step == store.FaultBegin {
			attempts.Add(1)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	set, err := s.CreateSet(t.Context(), model.Set{Name: "busy", Policy: model.DefaultPolicy()})
	if err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", dir+"/gateway.db?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	attempts.Store(0)
	committed := commitAsync(t, s, set.ID)
	waitUntil(t, func() bool { return attempts.Load() > 5 })
	if _, err := s.Record(t.Context(), set.ID, 1); err == nil {
		t.Error("the record is there before it was committed")
	}
	lock.Rollback()
	if err := <-committed; err != nil {
		t.Errorf("commit: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	if lock, err = other.Begin(); err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback()
	attempts.Store(0)
	go func() {
		for attempts.Load() < 3 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := s.Commit(ctx, set.ID, []model.Incoming{plain(2)}, store.CommitOptions{}); err == nil {
		t.Error("a commit succeeded whose caller had given up")
	}
}

// TestDeadlock makes a commit the victim of a deadlock on MySQL.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	config, db := newMySQL(t)
	var begins atomic.Int32
	s, err := store.Open(t.Context(), store.Config{Database: databaseURL(config), Fault: func(step string) error {
		if step == store.FaultBegin {
			begins.Add(1)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	set, err := s.CreateSet(t.Context(), model.Set{Name: "deadlock", Policy: model.DefaultPolicy()})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Lease(t.Context(), set.ID, "a", time.Hour); err != nil || !ok {
		t.Fatal(ok, err)
	}
	other, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	exec := func(query string) {
		t.Helper()
		if _, err := other.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	// The victim is the one that has written less.
	exec("INSERT INTO meta (name, value) VALUES ('x', '')" + strings.Repeat(", (UUID(), '')", 500))
	exec("UPDATE leases SET until_time = 0")
	begins.Store(0)
	committed := commitAsync(t, s, set.ID)
	waitUntil(t, func() bool {
		var waiting int
		err := db.QueryRow("SELECT COUNT(*) FROM information_schema.processlist"+
			" WHERE db = ? AND id <> CONNECTION_ID() AND info LIKE '%leases%FOR UPDATE'", config.DBName).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
		return waiting > 0
	})
	exec("UPDATE heads SET revision = revision + 1")
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-committed; err != nil {
		t.Errorf("commit: %v", err)
	}
	if n := begins.Load(); n < 2 {
		t.Errorf("%d transactions, want a second after the deadlock", n)
	}
	if err := s.Check(t.Context(), func(p store.Problem) { t.Error(p) }); err != nil {
		t.Error(err)
	}
}

// commitAsync commits one record, asking for the lease too.
func commitAsync(t *testing.T, s *store.Store, set model.SetID) <-chan error {
	committed := make(chan error, 1)
	go func() {
		_, err := s.Commit(t.Context(), set, []model.Incoming{plain(1)}, store.CommitOptions{Hold: "b", HoldFor: time.Hour})
		committed <- err
	}()
	return committed
}

func waitUntil(t *testing.T, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ready(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited for too long")
		}
	}
}
