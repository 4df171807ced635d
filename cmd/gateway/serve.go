package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"gateway/internal/httpx"
)

type serveCommand struct {
	storeFlags `embed:""`

	Listen        string        `default:"${listen}" placeholder:"HOST:PORT" help:"Address to listen on (default ${listen}); without HOST all of the machine's."`
	BaseURL       string        `name:"base-url" placeholder:"URL" help:"URL under which the public reaches the gateway; it may have a path. The store remembers it. Without it: the store's, else one made of the listen address."`
	Sample        bool          `help:"Load the built-in sample set, river-survey, unless it is there."`
	AccessLog     string        `default:"-" placeholder:"FILE" help:"Where requests are logged: a file, which is opened again on SIGHUP, - for standard output (default), or off."`
	MaxTransfers  int           `default:"256" placeholder:"N" help:"How many packages, resources and moving documents may be sent at a time; more are answered 503. Sealed documents are not counted (default 256)."`
	ShutdownGrace time.Duration `default:"30s" placeholder:"DURATION" help:"How long running requests may take to finish after the first signal (default 30s)."`
}

// Help is shown by serve --help.
func (*serveCommand) Help() string {
	return `Publishes every set of the store until SIGINT or SIGTERM, then finishes the running requests; a second signal ends it at once. Any number of processes may serve the same store, and import works beside them.

Examples:

    gateway serve --sample
    gateway serve --listen :80 --base-url https://sync.example.org
    gateway serve --database mysql://gateway:secret@db:3306/gateway --log-format json

The first tries it out, the second is for behind a TLS proxy.`
}

func (s *serveCommand) Run(c *call) error {
	if s.MaxTransfers < 1 {
		return usagef("--max-transfers is %d, want at least 1", s.MaxTransfers)
	}
	access, file, err := openAccessLog(s.AccessLog, c.con.out, c.logging)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Close()
		defer reopenOnHangup(file)()
	}
	listener, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return usageError{err}
	}
	defer listener.Close()
	derived, err := deriveBaseURL(s.Listen, listener.Addr())
	if err != nil {
		return usageError{err}
	}
	st, err := s.open(c, true)
	if err != nil {
		return err
	}
	defer st.Close()
	base, err := st.settleBaseURL(c.ctx, s.BaseURL, derived, true)
	if err != nil {
		return err
	}
	if s.Sample {
		if err := loadSample(c, st); err != nil {
			return fmt.Errorf("load the sample set: %w", err)
		}
	}
	sets, err := st.moveSets(c.ctx)
	if err != nil {
		return err
	}
	c.log.Info("serving", "url", base, "listen", listener.Addr().String(), "store", st.name, "sets", sets)
	err = s.serve(c, st, listener, access)
	c.log.Info("stopped")
	return err
}

// serve runs the publisher and the server until the context ends, and returns
// when both have finished.
func (s *serveCommand) serve(c *call, st *opened, l net.Listener, access *slog.Logger) error {
	server := httpx.NewServer(publicHandler(st, c.log, access, httpx.WithTransfers(s.MaxTransfers)), c.log, httpx.Timeouts{})

	ctx, stop := context.WithCancel(c.ctx)
	var publishing sync.WaitGroup
	publishing.Go(func() { _ = st.publisher.Run(ctx) })
	err := httpx.Serve(ctx, server, l, s.ShutdownGrace)
	stop()
	publishing.Wait()
	return err
}

// reopenOnHangup lets log rotation work: SIGHUP makes f start anew. The function
// returned ends that.
func reopenOnHangup(f *reopener) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for range hangup {
			_ = f.Reopen() // on error it goes on in the old file
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(hangup)
	}
}
