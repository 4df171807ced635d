package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tool is the path of a stranger's program. Without it the test is skipped, and
// fails where everything must be there.
func tool(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin/"} { // where Debian has nginx is not in everybody's path
		if path, err := exec.LookPath(dir + name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// startNginx runs nginx with the server blocks given, without privileges and
// with everything it writes in a directory of the test, until the test ends. It
// returns its process id. ready is a URL that answers once it serves.
func startNginx(t testing.TB, ready, servers string) (pid int) {
	t.Helper()
	path, dir := tool(t, "nginx"), t.TempDir()
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off;
worker_processes 2;
pid %[1]s/pid;
error_log %[1]s/error.log;
events { worker_connections 1024; }
http {
	access_log %[1]s/access.log;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000;
	default_type application/octet-stream;
%[2]s
}
`, dir, servers)
	if os.Getuid() == 0 {
		text = "user root;\n" + text // its workers must read the test's files
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", config)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	if !answers(ready) {
		log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
		t.Fatalf("nginx does not serve: %s%s", stderr.String(), log)
	}
	return cmd.Process.Pid
}

// answers waits a while for any answer at url.
func answers(url string) bool {
	for range 200 {
		if res, err := http.Get(url); err == nil {
			res.Body.Close()
			return true
		}
		time.Sleep(25 * time.Millisecond)
	}
	return false
}

// freeAddress is one of this machine that nobody listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
