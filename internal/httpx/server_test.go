package httpx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// paced is a response that writes down when its deadline is set and for how much.
type paced struct {
	http.ResponseWriter
	clock  time.Time
	events []string
}

func (p *paced) now() time.Time { p.clock = p.clock.Add(time.Hour); return p.clock }

func (p *paced) SetWriteDeadline(t time.Time) error {
	p.events = append(p.events, "until "+t.Sub(noon).String())
	return nil
}

func (p *paced) WriteHeader(int) { p.events = append(p.events, "header") }

func (p *paced) Write(b []byte) (int, error) {
	p.events = append(p.events, fmt.Sprintf("%d bytes", len(b)))
	return len(b), nil
}

// A reader that is slow but moves is never cut off: each stride has its own time.
func TestEveryStrideHasItsTime(t *testing.T) {
	w := &paced{clock: noon}
	h := cutOffStalled(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		if n, err := w.Write(make([]byte, 2*stride+1)); n != 2*stride+1 || err != nil {
			t.Errorf("%d %v", n, err)
		}
	}), time.Minute, w.now)
	h.ServeHTTP(w, request("GET", "/"))
	got := strings.Join(w.events, ", ")
	want := "until 1h1m0s, header, until 2h1m0s, 131072 bytes, until 3h1m0s, 131072 bytes, until 4h1m0s, 1 bytes, until 5h1m0s"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve runs s until the test ends.
func serve(t *testing.T, s *http.Server) (address string) {
	t.Helper()
	l := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, s, l, time.Minute) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, address, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestAReaderThatStallsIsCutOff(t *testing.T) {
	wrote := make(chan error, 1)
	s := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b := make([]byte, 1<<20)
		for {
			if _, err := w.Write(b); err != nil {
				wrote <- err
				return
			}
		}
	}), slog.New(slog.DiscardHandler), Timeouts{Stall: 20 * time.Millisecond})
	dial(t, serve(t, s), "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // and never reads
	if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing ended with %v", err)
	}
}

func TestABodyThatStallsIsCutOff(t *testing.T) {
	read := make(chan error, 1)
	s := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		read <- err
	}), slog.New(slog.DiscardHandler), Timeouts{Stall: 20 * time.Millisecond})
	dial(t, serve(t, s), "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading ended with %v", err)
	}
}

// A handler that leaves a body unread does not leave the connection to a client
// that never sends it.
func TestABodyThatNobodyReadsIsCutOff(t *testing.T) {
	s := NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler), Timeouts{Stall: 20 * time.Millisecond})
	conn := dial(t, serve(t, s), "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
	if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, io.EOF) {
		t.Logf("connection ended with %v", err) // closed or reset, both are an end
	}
}

// The time of a body that was read does not run on while the answer is made.
func TestALongAnswerAfterABody(t *testing.T) {
	const stall = 20 * time.Millisecond
	s := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		timer := time.NewTimer(3 * stall)
		defer timer.Stop()
		select {
		case <-timer.C:
			_, _ = io.WriteString(w, "done")
		case <-r.Context().Done():
			_, _ = io.WriteString(w, "given up")
		}
	}), slog.New(slog.DiscardHandler), Timeouts{Stall: stall})
	conn := dial(t, serve(t, s), "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := content(t, res); got != "done" {
		t.Errorf("%q", got)
	}
}

func TestServeFinishesWhatIsRunning(t *testing.T) {
	for _, row := range []struct {
		name     string
		grace    time.Duration
		released bool
	}{{"within the grace time", time.Minute, true}, {"and cuts off the rest", time.Millisecond, false}} {
		t.Run(row.name, func(t *testing.T) {
			entered, release := make(chan struct{}), make(chan struct{})
			s := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(entered)
				select {
				case <-release:
				case <-r.Context().Done():
				}
				_, _ = io.WriteString(w, "finished")
			}), slog.New(slog.DiscardHandler), Timeouts{})
			l := listen(t)
			ctx, cancel := context.WithCancel(context.Background())
			stopped := make(chan error, 1)
			go func() { stopped <- Serve(ctx, s, l, row.grace) }()
			conn := dial(t, l.Addr().String(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			<-entered
			cancel()
			if row.released {
				close(release)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if row.released {
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if got := content(t, res); got != "finished" {
					t.Errorf("%q", got)
				}
			} else if err == nil {
				res.Body.Close()
				t.Error("the client saw a clean answer")
			}
			if err := <-stopped; (err == nil) != row.released {
				t.Errorf("Serve: %v", err)
			}
			if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
				t.Error("it still listens")
			}
		})
	}
}

func TestServeTellsWhyItCannot(t *testing.T) {
	l := listen(t)
	l.Close()
	if err := Serve(context.Background(), NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler), Timeouts{}), l, 0); err == nil {
		t.Error("served on a closed listener")
	}
}
