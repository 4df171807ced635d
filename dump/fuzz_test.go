package dump_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"gateway/dump"
)

// FuzzOpen reads anything as a package: it never panics and never yields more
// than its limits. What it accepts, archive/zip reads as the same members.
func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob(layoutDir + "/*.zip")
	if err != nil || len(files) == 0 {
		f.Fatalf("no packages to begin with: %v", err)
	}
	for _, file := range files {
		f.Add(must(os.ReadFile(file)))
	}
	f.Add(streamed(f))
	f.Add(archive(manifestEntry, deflatedEntry("zeros", make([]byte, 1<<16))))
	f.Add(archive(manifestEntry, plainEntry("a", string(archive(plainEntry("b", "within a"))))))
	limits := dump.Limits{Members: 100, Size: 1 << 20, Total: 2 << 20, Ratio: 50, Path: 100, Depth: 5}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := dump.Open(bytes.NewReader(b), int64(len(b)), limits)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		if len(r.Members()) > limits.Members {
			t.Fatalf("%d members", len(r.Members()))
		}
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("archive/zip refuses it: %v", err)
		}
		theirs := map[string]*zip.File{}
		for _, f := range z.File {
			theirs[f.Name] = f
		}
		total := int64(0)
		for i := range r.Members() {
			m := &r.Members()[i]
			content := m.Open(noSums)
			got, err := io.ReadAll(content)
			content.Close()
			if total += int64(len(got)); int64(len(got)) > m.Length || total > limits.Total {
				t.Fatalf("%q yields %d bytes, %d in all", m.Name, len(got), total)
			}
			if err != nil {
				checkRefusal(t, err)
				continue
			}
			f := theirs[m.Name]
			if f == nil {
				t.Fatalf("archive/zip does not see %q", m.Name)
			}
			if want, err := io.ReadAll(must(f.Open())); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%q: archive/zip reads %q, %v; we read %q", m.Name, want, err, got)
			}
		}
	})
}

func checkRefusal(t *testing.T, err error) {
	var refusal *dump.Refusal
	if !errors.As(err, &refusal) || refusal.Reason == "" {
		t.Fatalf("%v is no refusal", err)
	}
}
