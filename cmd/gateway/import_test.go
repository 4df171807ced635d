package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gateway/ingest"
)

// TestFindings reports the first lines each and counts the rest.
func TestFindings(t *testing.T) {
	var out bytes.Buffer
	f := &findings{to: &out, above: newProgress(&out)}
	for i := range int64(maxFindings + 5) {
		f.rejected(ingest.Finding{Input: "a.jsonl", Line: i + 1, Field: "identifier", Reason: "is missing"})
	}
	f.warned(ingest.Finding{Input: "a.jsonl", Line: 1, Field: "title", Reason: "was changed"})
	f.done()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != maxFindings+2 {
		t.Fatalf("%d lines; want %d and two that count", len(lines), maxFindings)
	}
	for at, want := range map[int]string{
		0:               "a.jsonl:1: identifier: is missing",
		maxFindings - 1: fmt.Sprintf("a.jsonl:%d: identifier: is missing", maxFindings),
		maxFindings:     "and 5 more rejected lines",
		maxFindings + 1: "and 1 more warnings",
	} {
		if lines[at] != want {
			t.Errorf("line %d is %q; want %q", at+1, lines[at], want)
		}
	}
}

// TestInterruptedImport ends an import in its middle, as Ctrl-C does: it says
// what is done, and a later one does the rest at once, without waiting for a
// lease.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gateway := gatewayPath(t)
	cmd := exec.Command(gateway, "import", "--set", "a", "-")
	cmd.Dir, cmd.Env = dir, plainEnv()
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const records = 5_000
	for i := range records {
		// More than a pipe holds, so that in the end the import has begun.
		if _, err := fmt.Fprintf(in, noteLine, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitPartly {
		t.Fatalf("ends with %v; want status %d\n%s", err, exitPartly, log.String())
	}
	if !strings.Contains(log.String(), "gateway: interrupted; ") || !strings.HasPrefix(out.String(), "created=") {
		t.Errorf("says %q and\n%s", out.String(), log.String())
	}
	var done int
	if _, err := fmt.Sscanf(out.String(), "created=%d", &done); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second) // a lease lasts a minute
	defer cancel()
	again := exec.CommandContext(ctx, gateway, "import", "--set", "a", "-")
	again.Dir, again.Env = dir, plainEnv()
	r, w := io.Pipe()
	go func() {
		for i := range records {
			fmt.Fprintf(w, noteLine, i)
		}
		w.Close()
	}()
	again.Stdin = r
	b, err := again.Output()
	want := fmt.Sprintf("created=%d updated=0 deleted=0 unchanged=%d rejected=0\n", records-done, done)
	if err != nil || string(b) != want {
		t.Errorf("the import again: %q, %v; want %q", b, err, want)
	}
}

const noteLine = `{"identifier": "urn:example:%d", "representations": [{"name": "n.txt", "type": "text/plain", "content": "Low water."}]}` + "\n"
