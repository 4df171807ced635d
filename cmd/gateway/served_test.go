package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is a server in a process of its own, so that what it costs can be told
// from what its client costs.
type served struct {
	url string // without trailing slash
	pid int
}

// startProcess runs the test binary as one of its commands until the test ends.
func startProcess(t testing.TB, url string, env []string, args ...string) served {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := &exec.Cmd{Path: exe, Args: args, Env: append(plainEnv(), env...), Stderr: &stderr}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", args[0], err, stderr.String())
		}
	})
	if !answers(url + "/healthz") {
		t.Fatalf("%s does not serve:\n%s", args[0], stderr.String())
	}
	return served{url: url, pid: cmd.Process.Pid}
}

// serveStore runs gateway serve over the store in data on a free port.
func serveStore(t testing.TB, env []string, data string, args ...string) served {
	t.Helper()
	return serveStoreAt(t, env, data, freeAddress(t), args...)
}

func serveStoreAt(t testing.TB, env []string, data, address string, args ...string) served {
	t.Helper()
	return startProcess(t, "http://"+address, env,
		append([]string{"gateway", "serve", "--data", data, "--listen", address, "--access-log", data + "/access.log"}, args...)...)
}

const bareCommand = "bare-server"

// runBare is net/http and as little as can be: it answers everything 304, but for
// /healthz. Its address is its argument.
func runBare() {
	server := &http.Server{Addr: os.Args[1], ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			return
		}
		h := w.Header()
		h["Etag"] = []string{r.Header.Get("If-None-Match")}
		h["Cache-Control"] = []string{"public, max-age=0, must-revalidate"}
		w.WriteHeader(http.StatusNotModified)
	})}
	stopOnTerm(server)
	_ = server.ListenAndServe()
}

// cpu is the processor time that a process and its children have used so far.
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	sum := processCPU(t, pid)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Skipf("the system does not tell processor times: %v", err)
	}
	for _, child := range strings.Fields(string(children)) {
		n, err := strconv.Atoi(child)
		if err != nil {
			t.Fatal(err)
		}
		sum += processCPU(t, n)
	}
	return sum
}

func processCPU(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skipf("the system does not tell processor times: %v", err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from the third on
	const user, system, tick = 14 - 3, 15 - 3, 10 * time.Millisecond
	var sum time.Duration
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(n) * tick
	}
	return sum
}
