package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
)

// openAccessLog opens the log of requests, which is apart from the program's
// log: to a file, "-" for standard output, or "off".
func openAccessLog(to string, stdout io.Writer, format *loggingFlag) (*slog.Logger, *reopener, error) {
	switch to {
	case "off":
		return slog.New(slog.DiscardHandler), nil, nil
	case "-":
		return slog.New(format.handler(stdout, slog.LevelInfo)), nil, nil
	}
	f := &reopener{path: to}
	if err := f.Reopen(); err != nil {
		return nil, nil, usageError{fmt.Errorf("open access log: %w", err)}
	}
	return slog.New(format.handler(f, slog.LevelInfo)), f, nil
}

// reopener is a file to append to that starts anew after it was moved away.
type reopener struct {
	path string

	mu   sync.Mutex
	file *os.File // guarded by mu
}

// Reopen goes on in whatever file has the path now. On error it goes on in the
// old one.
func (r *reopener) Reopen() error {
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		r.file.Close()
	}
	r.file = f
	return nil
}

func (r *reopener) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file.Write(b)
}

func (r *reopener) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.file.Close()
}
