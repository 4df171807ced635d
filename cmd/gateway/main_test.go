package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the gateway command, one of the processes that
// write a random history, and the server that others are compared with.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gateway": main, writerCommand: runWriter, bareCommand: runBare})
}

// TestScripts runs the commands as a user does. Besides the usual commands of
// testscript the scripts have:
//
//	serve ARGS…     start gateway serve on a free port; $URL is its base URL
//	stop            end it by SIGTERM; its standard output and error are stdout
//	                and stderr then, and its exit status must be 0
//	get PATH        the body of $URL below PATH is stdout; must be 200
//	status CODE PATH
//	status-of CODE COMMAND ARGS…  run a command whose exit status must be CODE
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Values["server"] = new(server)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serveScript, "stop": stopScript, "get": getScript, "status": statusScript, "status-of": statusOfScript,
		},
	})
}

// server is the gateway serve of a script.
type server struct {
	cmd *exec.Cmd
	out strings.Builder

	mu   sync.Mutex
	log  strings.Builder // standard error; guarded by mu
	done chan struct{}   // closed at the end of standard error
}

var servingLine = regexp.MustCompile(`.*msg=serving url=(\S+) listen=(\S+).*`)

func serveScript(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value("server").(*server)
	if s.cmd != nil {
		ts.Fatalf("serve: it is running already")
	}
	*s = server{done: make(chan struct{})}
	path, err := exec.LookPath("gateway")
	ts.Check(err)
	s.cmd = exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	s.cmd.Dir = ts.Getenv("WORK")
	s.cmd.Env = plainEnv()
	s.cmd.Stdout = &s.out
	stderr, err := s.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ts.Defer(func() {
		if s.cmd != nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
	})
	ready := make(chan []string, 1)
	go s.read(stderr, ready)
	found, ok := <-ready
	if !ok {
		ts.Fatalf("serve ended:\n%s", s.stderr())
	}
	ts.Setenv("URL", found[1])
	ts.Setenv("LISTEN", found[2])
}

// plainEnv is the environment without what would configure the gateway.
func plainEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GATEWAY_") })
}

// read keeps standard error, and hands on the line that says that it serves.
func (s *server) read(r io.Reader, ready chan<- []string) {
	defer close(s.done)
	defer close(ready)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		s.mu.Lock()
		fmt.Fprintln(&s.log, lines.Text())
		s.mu.Unlock()
		if found := servingLine.FindStringSubmatch(lines.Text()); found != nil {
			ready <- found
		}
	}
}

func (s *server) stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func stopScript(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value("server").(*server)
	if s.cmd == nil {
		ts.Fatalf("stop: nothing is running")
	}
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	<-s.done
	err := s.cmd.Wait()
	s.cmd = nil
	fmt.Fprint(ts.Stdout(), s.out.String())
	fmt.Fprint(ts.Stderr(), s.stderr())
	ts.Check(err)
}

func getScript(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: get PATH")
	}
	status, body := fetch(ts, args[0])
	if status != http.StatusOK {
		ts.Fatalf("%s: status %d\n%s", args[0], status, body)
	}
	fmt.Fprint(ts.Stdout(), body)
}

func statusScript(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: status CODE PATH")
	}
	if status, body := fetch(ts, args[1]); fmt.Sprint(status) != args[0] {
		ts.Fatalf("%s: status %d, want %s\n%s", args[1], status, args[0], body)
	}
}

func statusOfScript(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: status-of CODE COMMAND ARGS…")
	}
	var exit *exec.ExitError
	err := ts.Exec(args[1], args[2:]...)
	if !errors.As(err, &exit) || fmt.Sprint(exit.ExitCode()) != args[0] {
		ts.Fatalf("%v, want exit status %s", err, args[0])
	}
}

func fetch(ts *testscript.TestScript, path string) (status int, body string) {
	if strings.HasPrefix(path, "/") {
		path = "http://" + ts.Getenv("LISTEN") + path
	}
	res, err := http.Get(path)
	ts.Check(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	ts.Check(err)
	return res.StatusCode, string(b)
}
