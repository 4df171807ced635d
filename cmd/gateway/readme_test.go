package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const readme = "../../README.md"

// step is a command of the README's tour and what it prints there; a line … in
// it stands for any number of lines.
type step struct {
	line    int
	command string
	prints  []string
}

// tour is every command after a dollar sign in the console blocks of text.
func tour(text string) []step {
	var steps []step
	inside := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, step{line: i + 1, command: line[2:]})
		case len(steps) > 0:
			last := &steps[len(steps)-1]
			last.prints = append(last.prints, line)
		}
	}
	return steps
}

// TestReadmeCommands holds the two commands that the README begins with.
func TestReadmeCommands(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Join(strings.Split(string(text), "\n")[:30], "\n")
	for _, want := range []string{"```sh\ngo run ./cmd/gateway serve --sample\n```", "```sh\ngo test ./...\n```"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first screen of the README lacks\n%s", want)
		}
	}
}

// TestTour does what the README's tour says and compares what it prints, but for
// times, ids and the place where it runs.
func TestTour(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("the tour needs %s: %v", tool, err)
		}
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	steps := tour(string(text))
	if len(steps) < 10 {
		t.Fatalf("found %d commands in the README's tour", len(steps))
	}
	dir := t.TempDir()
	gateway := gatewayPath(t)
	var base string
	for _, s := range steps {
		if strings.Contains(s.command, "gateway serve") {
			flags := strings.Fields(strings.TrimPrefix(s.command, "go run ./cmd/gateway serve"))
			var line string
			base, line = startServe(t, gateway, dir, flags...)
			check(t, s, plain(line, dir, base))
			continue
		}
		command := strings.ReplaceAll(s.command, "go run ./cmd/gateway", gateway)
		command = strings.ReplaceAll(command, "http://127.0.0.1:8080", base)
		sh := exec.CommandContext(t.Context(), "sh", "-c", command)
		sh.Dir, sh.Env = dir, plainEnv()
		out, err := sh.CombinedOutput()
		if err != nil {
			t.Fatalf("README.md:%d: %s: %v\n%s", s.line, s.command, err, out)
		}
		check(t, s, plain(string(out), dir, base))
	}
	res, err := http.Get(base + "/")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("the start page answers %s", res.Status)
	}
}

var (
	timeText = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`)
	uuidText = regexp.MustCompile(`urn:uuid:[0-9a-f-]{36}`)
)

// plain is output with all that differs from one run to the next replaced by
// what the README has.
func plain(out, dir, base string) string {
	out = strings.ReplaceAll(out, base, "http://127.0.0.1:8080")
	out = strings.ReplaceAll(out, strings.TrimPrefix(base, "http://"), "127.0.0.1:8080")
	out = strings.ReplaceAll(out, dir, "/home/you/gateway")
	out = timeText.ReplaceAllString(out, "TIME")
	return uuidText.ReplaceAllString(out, "urn:uuid:ID")
}

// check compares the output of a step with the README's.
func check(t *testing.T, s step, out string) {
	t.Helper()
	got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	rest := got
	for i, chunk := range chunks(s.prints) {
		at := find(rest, chunk, i == 0 && (len(s.prints) == 0 || s.prints[0] != "…"))
		if at < 0 {
			t.Errorf("README.md:%d: %s prints something else (-README +now):\n%s", s.line, s.command, cmp.Diff(chunk, rest))
			return
		}
		rest = rest[at+len(chunk):]
	}
	if n := len(s.prints); n > 0 && s.prints[n-1] != "…" && len(rest) > 0 {
		t.Errorf("README.md:%d: %s prints more:\n%s", s.line, s.command, strings.Join(rest, "\n"))
	}
}

// chunks are the runs of lines between the lines that stand for any.
func chunks(lines []string) [][]string {
	var all [][]string
	var run []string
	for _, line := range append(lines, "…") {
		if line != "…" {
			run = append(run, timeText.ReplaceAllString(line, "TIME"))
		} else if run != nil {
			all, run = append(all, run), nil
		}
	}
	return all
}

// find is where chunk stands in lines, at the beginning if it must; -1 if it
// does not.
func find(lines, chunk []string, first bool) int {
	for at := 0; at+len(chunk) <= len(lines); at++ {
		if strings.Join(lines[at:at+len(chunk)], "\n") == strings.Join(chunk, "\n") {
			return at
		}
		if first {
			break
		}
	}
	return -1
}

// gatewayPath is the command that testscript made of the test binary.
func gatewayPath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("gateway")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startServe starts gateway serve on a free port until the test ends. It returns
// its base URL and the line of its log that says so.
func startServe(t *testing.T, gateway, dir string, flags ...string) (base, line string) {
	t.Helper()
	cmd := exec.Command(gateway, append([]string{"serve", "--listen", "127.0.0.1:0", "--access-log", "off"}, flags...)...)
	cmd.Dir, cmd.Env = dir, plainEnv()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: cmd, done: make(chan struct{})}
	ready := make(chan []string, 1)
	go s.read(stderr, ready)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.done
		_ = cmd.Wait()
	})
	found, ok := <-ready
	if !ok {
		t.Fatalf("serve ended:\n%s", s.stderr())
	}
	return found[1], fmt.Sprintln(found[0])
}
