// Command gateway publishes a repository's records on every sync protocol at
// once.
//
// This package is wiring: flags, signals, and who gets what. Each command is a
// file: serve.go, import.go, set.go, snapshot.go, fsck.go, rebase.go,
// version.go. A command returns an error and main turns it into the exit
// status: 0 done, 1 done but not all of it succeeded, 2 wrong usage or
// configuration.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to finish; from then on a signal kills as usual.
	context.AfterFunc(ctx, stop)
	status := run(ctx, os.Args[1:], console{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	os.Exit(status)
}
