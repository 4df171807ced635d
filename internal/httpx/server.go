package httpx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
)

// Timeouts bounds what a client can hold up. Zero fields have the defaults.
type Timeouts struct {
	Header time.Duration // to send a request's headers: 10 s
	Idle   time.Duration // between two requests of a connection: 2 min
	// Stall is how long a client may take none of the bytes of an answer, or
	// send none of a request: 1 min. One that is slow but moves is not cut off,
	// however long it takes.
	Stall time.Duration
}

func (t Timeouts) withDefaults() Timeouts {
	if t.Header <= 0 {
		t.Header = 10 * time.Second
	}
	if t.Idle <= 0 {
		t.Idle = 2 * time.Minute
	}
	if t.Stall <= 0 {
		t.Stall = time.Minute
	}
	return t
}

// NewServer is a server of h that lets no client hold it up. What net/http has
// to say goes to log.
func NewServer(h http.Handler, log *slog.Logger, t Timeouts) *http.Server {
	t = t.withDefaults()
	return &http.Server{
		Handler:           cutOffStalled(h, t.Stall, time.Now),
		ReadHeaderTimeout: t.Header,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// Serve serves on l until ctx is done, then takes no new requests and finishes
// what is running within grace; what is not finished then is cut off and is the
// error.
func Serve(ctx context.Context, s *http.Server, l net.Listener, grace time.Duration) error {
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := s.Shutdown(finish)
	if err != nil {
		err = errors.Join(fmt.Errorf("finish running requests within %s: %w", grace, err), s.Close())
	}
	<-failed // http.ErrServerClosed, as asked
	return err
}

// cutOffStalled renews the connection's deadlines as bytes move. http.Server's
// own WriteTimeout counts from the request on and would cut off whoever needs
// long for a large dump.
func cutOffStalled(h http.Handler, stall time.Duration, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := &deadlines{ResponseWriter: w, control: http.NewResponseController(w), stall: stall, now: now}
		if r.Body != nil && r.Body != http.NoBody {
			// net/http drains what the handler left unread, before the answer's
			// headers or after the handler.
			d.reading()
			defer d.reading()
			inner := *r
			inner.Body = &stallingBody{ReadCloser: r.Body, deadlines: d}
			r = &inner
		}
		// What is left in the buffers is flushed after the handler, and the
		// next answer of the connection must not inherit an old deadline.
		defer d.writing()
		h.ServeHTTP(d, r)
	})
}

// deadlines is a response whose every step gets the full time.
type deadlines struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	now     func() time.Time
}

// stride is the most that one step writes: a client that takes this much within
// the stall time is only slow.
const stride = 128 << 10

func (d *deadlines) writing() {
	_ = d.control.SetWriteDeadline(d.now().Add(d.stall)) // without deadlines (HTTP/1 in a test) there is no cut-off
}

func (d *deadlines) reading() { _ = d.control.SetReadDeadline(d.now().Add(d.stall)) }

func (d *deadlines) WriteHeader(status int) {
	d.writing()
	d.ResponseWriter.WriteHeader(status)
}

func (d *deadlines) Write(p []byte) (n int, err error) {
	for {
		d.writing()
		m, err := d.ResponseWriter.Write(p[:min(len(p), stride)])
		n, p = n+m, p[m:]
		if err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// ReadFrom lets a file leave by sendfile. A step ends with the deadline; when
// some of the file has left by then, the client is only slow.
func (d *deadlines) ReadFrom(src io.Reader) (n int64, err error) {
	to, ok := d.ResponseWriter.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{d}, src)
	}
	// The headers must have left: of them, a part is no progress.
	d.writing()
	if err := d.control.Flush(); err != nil {
		return 0, err
	}
	for {
		d.writing()
		m, err := to.ReadFrom(src)
		n += m
		if m == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
}

// Flush sends what is buffered.
func (d *deadlines) Flush() {
	d.writing()
	_ = d.control.Flush()
}

// Unwrap is for http.ResponseController.
func (d *deadlines) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// stallingBody is a request's body whose every read gets the full time. At its
// end the deadline goes: net/http reads on to see when the client leaves, and
// would take a deadline passed for that.
type stallingBody struct {
	io.ReadCloser
	deadlines *deadlines
}

func (b *stallingBody) Read(p []byte) (int, error) {
	b.deadlines.reading()
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.deadlines.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
