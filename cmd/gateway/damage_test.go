package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDamagedPacks damages what content lies in, in every way a disk does. Nobody
// gets it for good: a package or a resource that it belongs to is an error or a
// connection that breaks, and fsck names it. What is whole stays served.
func TestDamagedPacks(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, pack string){
		"a byte in the middle": func(t *testing.T, pack string) {
			b, err := os.ReadFile(pack)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)/2] ^= 1
			rewrite(t, pack, b)
		},
		"the end is missing": func(t *testing.T, pack string) {
			b, err := os.ReadFile(pack)
			if err != nil {
				t.Fatal(err)
			}
			rewrite(t, pack, b[:len(b)*2/3])
		},
		"the pack is missing": func(t *testing.T, pack string) {
			if err := os.Remove(pack); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			publishedSet(t, data, "", 40)
			sound := everything(t, data)
			packs := packsIn(t, data)
			damage(t, packs[0])
			good, bad := 0, 0
			for path, got := range everything(t, data) {
				switch {
				case got == "":
					bad++
				case got != sound[path]:
					t.Errorf("%s is served, and is not what it was", path)
				default:
					good++
				}
			}
			if good == 0 || bad == 0 {
				t.Errorf("%d are served, %d are not", good, bad)
			}
			if n := damages(t, data); n == 0 {
				t.Error("fsck finds nothing")
			}
		})
	}
}

func rewrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func packsIn(t *testing.T, data string) []string {
	t.Helper()
	var packs []string
	err := filepath.WalkDir(filepath.Join(data, "objects", "packs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			packs = append(packs, path)
		}
		return err
	})
	if err != nil || len(packs) == 0 {
		t.Fatalf("no packs: %v", err)
	}
	return packs
}

var resourceLocation = regexp.MustCompile(`<loc>([^<]*/r/[^<]*)</loc>`)

// everything is the digest of each package and resource, or "" for one that is
// refused or breaks.
func everything(t *testing.T, data string) map[string]string {
	t.Helper()
	server := serveStore(t, nil, data)
	paths := packagePaths(t, server.url, deliveryBase, "delivery")
	_, list := fetched(t, server.url+"/rs/delivery/resourcelist.xml")
	for _, found := range resourceLocation.FindAllStringSubmatch(string(list), -1) {
		paths = append(paths, strings.TrimPrefix(found[1], deliveryBase))
	}
	digests := map[string]string{}
	for _, path := range paths {
		digests[path] = digestOf(t, server.url+path)
	}
	return digests
}

func digestOf(t *testing.T, address string) string {
	t.Helper()
	res, err := get(address, nil)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, res.Body); err != nil || res.StatusCode == http.StatusInternalServerError {
		return ""
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", address, res.Status)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// damages is how many fsck finds.
func damages(t *testing.T, data string) int {
	t.Helper()
	var out bytes.Buffer
	status := run(t.Context(), []string{"fsck", "--data", data}, console{in: strings.NewReader(""), out: &out, err: io.Discard})
	n := strings.Count(out.String(), "\n") - 1 // the last line has their number
	if (status != 0) != (n > 0) {
		t.Errorf("fsck ends with %d after\n%s", status, out.String())
	}
	return n
}
