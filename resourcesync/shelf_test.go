package resourcesync_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"

	"gateway/resourcesync"
)

// watched calls first before the first byte of a body is taken.
type watched struct {
	*httptest.ResponseRecorder
	once  sync.Once
	first func()
}

func (w *watched) Write(b []byte) (int, error) {
	w.once.Do(w.first)
	return w.ResponseRecorder.Write(b)
}

func (w *world) riverPackage() string {
	return resourcesync.ResourcePackage{Generation: resourcesync.Generation{Set: "rivers", Epoch: 1, Snapshot: 1}, Part: 1, Number: 1}.Path()
}

// The first byte of a package does not wait for its layout.
func TestFirstByte(t *testing.T) {
	w := riverWorld(t)
	w.gate = make(chan struct{})
	answer := &watched{ResponseRecorder: httptest.NewRecorder(), first: func() { close(w.gate) }}
	w.router.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, w.riverPackage(), nil))
	if answer.Code != http.StatusOK || int64(answer.Body.Len()) != w.packages[w.riverPackage()].Size {
		t.Errorf("%d, %d bytes", answer.Code, answer.Body.Len())
	}
	unpack(t, answer.Body.Bytes())
}

// Many requests for one package at once, and one after another, cost one scan.
func TestLaidOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := riverWorld(t)
		w.scans.Store(0)
		w.gate = make(chan struct{})
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				// Only headers of the directory, which need no content.
				if got := w.ask(http.MethodGet, w.riverPackage(), "Range", "bytes=-200"); got.Code != http.StatusPartialContent || got.Body.Len() != 200 {
					t.Errorf("%d, %d bytes", got.Code, got.Body.Len())
				}
			})
		}
		synctest.Wait()
		close(w.gate)
		all.Wait()
		w.ask(http.MethodGet, w.riverPackage(), "Range", "bytes=-100")
		if n := w.scans.Load(); n != 1 {
			t.Errorf("%d scans", n)
		}
	})
}

// A layout that nobody waits for any more is given up, and made again for the
// next who asks.
func TestLayoutGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := riverWorld(t)
		w.scans.Store(0)
		w.gate = make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			defer func() { _ = recover() }() // the connection is aborted
			r := httptest.NewRequest(http.MethodGet, w.riverPackage(), nil).WithContext(ctx)
			w.router.ServeHTTP(httptest.NewRecorder(), r)
		}()
		synctest.Wait()
		leave()
		<-gone
		synctest.Wait() // the scan has ended with the one who asked
		close(w.gate)
		if got := w.ask(http.MethodGet, w.riverPackage()); got.Code != http.StatusOK || w.scans.Load() != 2 {
			t.Errorf("%d after %d scans", got.Code, w.scans.Load())
		}
	})
}
