package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gateway/model"
	"gateway/model/modeltest"
	"gateway/store"
)

// proxy stands between the store and the server. When cut is set, it breaks the
// connection at the next COMMIT, before or after it was passed on.
type proxy struct {
	listener net.Listener
	server   string
	cut      atomic.Int32
	cuts     atomic.Int32
	refuse   atomic.Int32 // connections that are closed at once
}

const (
	cutNothing = iota
	cutBefore
	cutAfter
)

func newProxy(t *testing.T, server string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server}
	t.Cleanup(func() { l.Close() })
	go p.serve()
	return p
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.refuse.Add(-1) >= 0 {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		go func() {
			io.Copy(client, server)
			client.Close()
		}()
		go p.pass(client, server)
	}
}

// pass sends what the client says on to the server. COMMIT is a packet of its
// own: length 7, number 0, command 3 (query), the word.
func (p *proxy) pass(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := client.Read(b)
		if err != nil {
			return
		}
		cut := cutNothing
		if bytes.HasSuffix(b[:n], []byte("\x07\x00\x00\x00\x03COMMIT")) {
			cut = int(p.cut.Swap(cutNothing))
		}
		if cut != cutNothing {
			p.cuts.Add(1)
		}
		if cut == cutBefore {
			return
		}
		if cut == cutAfter {
			client.Close() // first, so that the reply finds nobody
		}
		if _, err := server.Write(b[:n]); err != nil {
			return
		}
		if cut == cutAfter {
			server.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, server)
			return
		}
	}
}

// TestLostConnectionAtCommit breaks the connection at COMMIT, so that the store
// cannot know whether it took effect. Nothing is lost and nothing is doubled.
func TestLostConnectionAtCommit(t *testing.T) {
	t.Parallel()
	config, _ := newMySQL(t)
	p := newProxy(t, config.Addr)
	config.Addr = p.listener.Addr().String()
	s, err := store.Open(t.Context(), store.Config{Database: databaseURL(config)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	set, err := s.CreateSet(t.Context(), model.Set{Name: "lost", Policy: model.DefaultPolicy()})
	if err != nil {
		t.Fatal(err)
	}
	const commits = 40
	for i := range commits {
		p.cut.Store(int32(1 + i%2))
		done, err := s.Commit(t.Context(), set.ID, []model.Incoming{plain(i)}, store.CommitOptions{})
		if err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
		want := model.Outcome{Number: model.RecordNumber(i + 1), Position: model.Position(i + 1), Kind: model.Created}
		if done.Outcomes[0] != want {
			t.Errorf("commit %d: %+v, want %+v", i, done.Outcomes[0], want)
		}
	}
	p.cut.Store(cutAfter)
	if _, err := s.CreateSet(t.Context(), model.Set{Name: "lost-too", Policy: model.DefaultPolicy()}); err != nil {
		t.Errorf("create a set: %v", err)
	}
	p.cut.Store(cutAfter)
	if sealed, err := s.Seal(t.Context(), set.ID); err != nil || !sealed {
		t.Errorf("seal: %v, %v", sealed, err)
	}
	if want := int32(commits + 2); p.cuts.Load() != want {
		t.Errorf("%d connections were cut, want %d", p.cuts.Load(), want)
	}
	if err := s.Check(t.Context(), func(p store.Problem) { t.Error(p) }); err != nil {
		t.Error(err)
	}
}

// plain is a small record.
func plain(i int) model.Incoming {
	text := fmt.Sprint("text ", i)
	r := model.Record{Identifier: fmt.Sprint("urn:x:", i)}
	r.Resources = []model.Resource{modeltest.Text(model.Representation, "r.txt", "text/plain", text)}
	return model.Incoming{Record: r, Bodies: []model.Body{{Bytes: []byte(text)}}}
}

// TestClock refuses to write when the clocks of process and database differ.
func TestClock(t *testing.T) {
	t.Parallel()
	config, _ := newMySQL(t)
	off := 4 * time.Second
	s, err := store.Open(t.Context(), store.Config{
		Database: databaseURL(config),
		Now:      func() time.Time { return time.Now().Add(off) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	set, err := s.CreateSet(t.Context(), model.Set{Name: "clock", Policy: model.DefaultPolicy()})
	if err != nil {
		t.Fatalf("4 s off: %v", err)
	}
	for _, off = range []time.Duration{6 * time.Second, -6 * time.Second} {
		if _, err := s.Commit(t.Context(), set.ID, []model.Incoming{plain(1)}, store.CommitOptions{}); err == nil {
			t.Errorf("a commit %v off the database's clock", off)
		}
		if err := s.Ready(t.Context()); err == nil {
			t.Errorf("ready %v off the database's clock", off)
		}
	}
}

// TestNoServer says why the database cannot be opened, soon.
func TestNoServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // now nobody listens there
	began := time.Now()
	s, err := store.Open(t.Context(), store.Config{Database: "mysql://u@" + l.Addr().String() + "/x"})
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("open: %v, want that the connection was refused", err)
	}
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("it took %v to say so", d)
	}
}

// TestServerStarts opens a database whose server breaks the first connections.
func TestServerStarts(t *testing.T) {
	t.Parallel()
	config, _ := newMySQL(t)
	p := newProxy(t, config.Addr)
	config.Addr = p.listener.Addr().String()
	p.refuse.Store(2)
	s, err := store.Open(t.Context(), store.Config{Database: databaseURL(config)})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if n := p.refuse.Load(); n > 0 {
		t.Errorf("%d connections were not broken", n)
	}
}
