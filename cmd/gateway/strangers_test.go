package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var zipLocation = regexp.MustCompile(`<loc>([^<]*\.zip)</loc>`)

// packagePaths are the paths, below the base URL, of every package that the
// server offers of the set delivery.
func packagePaths(t testing.TB, server, base, set string) []string {
	t.Helper()
	var paths []string
	for _, list := range []string{"resourcedump.xml", "changedump.xml"} {
		_, body := fetched(t, server+"/rs/"+set+"/"+list)
		for _, found := range zipLocation.FindAllStringSubmatch(string(body), -1) {
			path, ok := strings.CutPrefix(found[1], base)
			if !ok {
				t.Fatalf("%s is not below %s", found[1], base)
			}
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		t.Fatalf("%s offers no packages", server)
	}
	return paths
}

// fetched is an answer that must be 200, and its body.
func fetched(t testing.TB, address string) (http.Header, []byte) {
	t.Helper()
	res, err := get(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || res.ContentLength != int64(len(body)) {
		t.Fatalf("%s: %s, %d bytes of %d: %v", address, res.Status, len(body), res.ContentLength, err)
	}
	return res.Header, body
}

// TestStrangersUnpack lets the programs that people have unpack every package of
// a small store, downloaded from a server.
func TestStrangersUnpack(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	publishedSet(t, data, "", 100)
	server := serveStore(t, nil, data)
	dir := t.TempDir()
	var files []string
	for i, path := range packagePaths(t, server.url, deliveryBase, "delivery") {
		_, body := fetched(t, server.url+path)
		file := filepath.Join(dir, fmt.Sprintf("%d.zip", i))
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	t.Run("archive/zip", func(t *testing.T) {
		for _, file := range files {
			if n := unzipped(t, file); n < 2 {
				t.Errorf("%s has %d members", file, n)
			}
		}
	})
	const python = `import sys, zipfile
for name in sys.argv[1:]:
    with zipfile.ZipFile(name) as z:
        broken = z.testzip()
        assert broken is None, broken
        assert z.namelist()[0] == "manifest.xml", z.namelist()[0]`
	for name, command := range map[string][]string{
		"unzip": {"unzip", "-tqq"}, "7z": {"7z", "t", "-bso0"}, "python3": {"python3", "-c", python},
	} {
		t.Run(name, func(t *testing.T) {
			program := tool(t, command[0])
			for _, file := range files {
				if out, err := exec.Command(program, append(command[1:], file)...).CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", file, err, out)
				}
			}
		})
	}
}

// unzipped reads every member of a package and counts them.
func unzipped(t testing.TB, file string) int {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, member := range z.File {
		r, err := member.Open()
		if err != nil {
			t.Fatalf("%s: %v", member.Name, err)
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Fatalf("%s: %v", member.Name, err)
		}
		r.Close()
	}
	return len(z.File)
}

// TestCurlResumes cuts the connection again and again at random places; curl goes
// on each time, and what it has in the end is the package.
func TestCurlResumes(t *testing.T) {
	t.Parallel()
	curl := tool(t, "curl")
	data := t.TempDir()
	publishedSet(t, data, "", 400)
	server := serveStore(t, nil, data)
	path := packagePaths(t, server.url, deliveryBase, "delivery")[0]
	_, want := fetched(t, server.url+path)
	random := rand.New(rand.NewPCG(8, 8))
	for round := range 5 {
		file := filepath.Join(t.TempDir(), "package.zip")
		address := cutting(t, server.url, random, len(want)/3)
		runs := 0
		for ; runs < 100; runs++ {
			err := exec.Command(curl, "-s", "-f", "-C", "-", "-o", file, "http://"+address+path).Run()
			if err == nil {
				break
			}
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 18 && exit.ExitCode() != 56 { // partial file, receive failed
				t.Fatalf("curl: %v", err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("round %d: %d bytes after %d cuts differ from the %d there are: %v", round, len(got), runs, len(want), err)
		}
		if runs == 0 {
			t.Errorf("round %d: nothing was cut", round)
		}
	}
}

// cutting is the address of a proxy to server that ends each connection after a
// random number of bytes, up to most.
func cutting(t *testing.T, server string, random *rand.Rand, most int) string {
	t.Helper()
	own := rand.New(rand.NewPCG(random.Uint64(), 0)) // the caller goes on with random
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() { l.Close(); running.Wait() })
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			n := int64(500 + own.IntN(most))
			running.Go(func() {
				defer in.Close()
				out, err := net.Dial("tcp", strings.TrimPrefix(server, "http://"))
				if err != nil {
					return
				}
				defer out.Close()
				go func() {
					_, _ = io.Copy(out, in)
					out.Close() // the client has left, with less than the cut
				}()
				_, _ = io.CopyN(in, out, n)
			})
		}
	})
	return l.Addr().String()
}

// TestRandomRanges compares random ranges of a package with the same ranges of
// the package that was downloaded whole.
func TestRandomRanges(t *testing.T) {
	t.Parallel()
	ranges := 20_000
	if testing.Short() {
		ranges = 1_000
	}
	data := t.TempDir()
	publishedSet(t, data, "", 1000)
	server := serveStore(t, nil, data)
	address := server.url + packagePaths(t, server.url, deliveryBase, "delivery")[0]
	header, want := fetched(t, address)
	var clients sync.WaitGroup
	const parallel = 4
	for n := range parallel {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 9))
			for range ranges / parallel {
				if err := checkRange(address, header.Get("Etag"), want, random); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
}

// checkRange asks for one range: short ones and long ones, and those that begin or
// end at the ends.
func checkRange(address, etag string, want []byte, random *rand.Rand) error {
	first := random.IntN(len(want))
	last := min(first+random.IntN(1<<(1+random.IntN(16))), len(want)-1)
	asked := fmt.Sprintf("bytes=%d-%d", first, last)
	switch random.IntN(20) {
	case 0:
		asked, last = fmt.Sprintf("bytes=%d-", first), len(want)-1
	case 1:
		asked, last = fmt.Sprintf("bytes=-%d", len(want)-first), len(want)-1
	}
	res, err := get(address, map[string]string{"Range": asked, "If-Range": etag})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusPartialContent || !bytes.Equal(got, want[first:last+1]) ||
		res.Header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", first, last, len(want)) {
		return fmt.Errorf("%s: %s, %s, %d bytes: %v", asked, res.Status, res.Header.Get("Content-Range"), len(got), err)
	}
	return nil
}
