package dump_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// need is where a program of strangers is. Without it the test is skipped, but
// for the one place where nothing may be missing.
func need(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing; the packages unzip, zip, p7zip-full and python3 have the tools of this test", name)
		}
		t.Skipf("no %s here: packages are not tried with it", name)
	}
	return path
}

// tool runs a program over a package, which must succeed.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	path := need(t, name)
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out[:min(len(out), 2000)])
	}
}

// checkWithTools has all of a package unpacked and its checksums compared.
func checkWithTools(t *testing.T, file string) {
	t.Helper()
	t.Run("RS-RDM-01 unzip", func(t *testing.T) { tool(t, "unzip", "-tqq", file) })
	t.Run("7z", func(t *testing.T) { tool(t, "7z", "t", file) })
	t.Run("python zipfile", func(t *testing.T) {
		tool(t, "python3", "-c", `import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.infolist()[0].filename == "manifest.xml"
bad = z.testzip()
sys.exit(bad and "bad: " + bad)`, file)
	})
}

func TestToolsAcceptPackages(t *testing.T) {
	for name, pieces := range layoutPackages() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name+".zip")
			if err := os.WriteFile(file, bytesOf(t, packageOf(t, pieces)), 0o600); err != nil {
				t.Fatal(err)
			}
			checkWithTools(t, file)
		})
	}
}

// TestUnpacked has unzip write a package to a file system and compares.
func TestUnpacked(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "p.zip")
	pieces := layoutPackages()["changes"]
	if err := os.WriteFile(file, bytesOf(t, packageOf(t, pieces)), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, "unzip", "-q", file, "-d", dir)
	for _, p := range pieces {
		at := filepath.Join(dir, filepath.FromSlash(p.path))
		got, err := os.ReadFile(at)
		if err != nil || string(got) != string(p.plain) {
			t.Fatalf("%s: %q, %v", p.path, got, err)
		}
		info := must(os.Stat(at))
		if info.Mode().Perm() != 0o644 || info.ModTime().Unix() != p.time.Time().Unix() {
			t.Errorf("%s has mode %v and time %v, want 0644 and %v", p.path, info.Mode(), info.ModTime(), p.time)
		}
	}
}
