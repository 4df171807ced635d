package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"gateway/model"
	"gateway/store"
)

// TestCreateSetsAtOnce creates sets from several processes. Each gets an id of
// its own, and none fails.
func TestCreateSetsAtOnce(t *testing.T) {
	t.Parallel()
	config, _ := newMySQL(t)
	const processes, sets = 6, 40
	var group sync.WaitGroup
	for p := range processes {
		s, err := store.Open(t.Context(), store.Config{Database: databaseURL(config)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for g := range 2 {
			group.Go(func() {
				for i := range sets {
					name := fmt.Sprintf("s-%d-%d-%d", p, g, i)
					if _, err := s.CreateSet(t.Context(), model.Set{Name: name, Policy: model.DefaultPolicy()}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
}

// TestCreateSetWhileMoving creates a set in a transaction that began before the
// base URL changes and ends after: either the set is at the new base URL, or
// whoever changes the base URL waits and then finds the set.
func TestCreateSetWhileMoving(t *testing.T) {
	t.Parallel()
	config, _ := newMySQL(t)
	written, goOn := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	creator, err := store.Open(t.Context(), store.Config{Database: databaseURL(config), Fault: func(step string) error {
		if step == store.FaultWritten && armed.CompareAndSwap(true, false) {
			close(written)
			<-goOn
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer creator.Close()
	mover, err := store.Open(t.Context(), store.Config{Database: databaseURL(config)})
	if err != nil {
		t.Fatal(err)
	}
	defer mover.Close()
	if err := mover.SetBaseURL(t.Context(), "https://old.example", true); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := creator.CreateSet(t.Context(), model.Set{Name: "late", Policy: model.DefaultPolicy()}); err != nil {
			t.Error(err)
		}
	})
	<-written
	moved := make(chan error, 1)
	go func() {
		err := mover.SetBaseURL(t.Context(), "https://new.example", true)
		if err == nil {
			if _, found := mover.Set(context.WithoutCancel(t.Context()), "late"); found != nil {
				err = fmt.Errorf("the set that is at the old base URL cannot be found by who moves the store: %w", found)
			}
		}
		moved <- err
	}()
	// Without a lock the move is over before the creator goes on.
	waitUntil(t, func() bool { return len(moved) > 0 || lockWaits(t, config) > 0 })
	close(goOn)
	group.Wait()
	if err := <-moved; err != nil {
		t.Error(err)
	}
}

// TestMoveAtOnce lets two processes move a set to the same base URL.
func TestMoveAtOnce(t *testing.T) {
	t.Parallel()
	config, _ := newMySQL(t)
	var stores []*store.Store
	for range 2 {
		s, err := store.Open(t.Context(), store.Config{Database: databaseURL(config)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores = append(stores, s)
	}
	set, err := stores[0].CreateSet(t.Context(), model.Set{Name: "moved", Policy: model.DefaultPolicy()})
	if err != nil {
		t.Fatal(err)
	}
	if err := stores[0].SetBaseURL(t.Context(), "https://new.example", true); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, s := range stores {
		group.Go(func() {
			epoch, err := s.OpenEpoch(t.Context(), set.ID, "rebase")
			if err != nil || epoch.Number != 2 || epoch.BaseURL != "https://new.example" {
				t.Errorf("epoch %+v, %v; want the second", epoch, err)
			}
		})
	}
	group.Wait()
}
