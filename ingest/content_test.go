package ingest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// noise is n bytes that do not shrink.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return string(b)
}

func TestLargeContentBecomesObjects(t *testing.T) {
	const inline, size = 64 << 10, trialSize + 100_000
	words := strings.Repeat("Lorem \"ipsum\"\n\\ dolor é 😀 sit ", size/33+1)
	random := noise(size)
	late := noise(trialSize) + strings.Repeat("a", size-trialSize)
	dir := t.TempDir()
	for name, text := range map[string]string{"words": words, "random": random} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, field, want string
		deflated          bool
	}{
		{"content", fmt.Sprintf(`"content":%q`, words), words, true},
		{"content without escapes", `"content":"` + strings.Repeat("x", size) + `"`, strings.Repeat("x", size), true},
		{"content_base64 that does not shrink", `"content_base64":"` + base64.StdEncoding.EncodeToString([]byte(random)) + `"`, random, false},
		{"content_base64 with escapes", `"content_base64":"` + strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(words)), "/", `\/`) + `"`, words, true},
		{"whose first MiB does not shrink", `"content_base64":"` + base64.StdEncoding.EncodeToString([]byte(late)) + `"`, late, false},
		{"content_file", `"content_file":"words"`, words, true},
		{"content_file that does not shrink", `"content_file":"random"`, random, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.chunk, f.inline = chunkSize, inline
			d := describe([]byte(c.want))
			r, findings, err := f.run(Config{Files: dir}, record(c.field+fmt.Sprintf(`,"length":%d,"hashes":{"sha-256":"%x","md5":"%x"}`, d.Length, d.SHA256, d.MD5)))
			if err != nil || r.Created != 1 || len(f.objects) != 1 {
				t.Fatalf("%+v, %.500v, %v, %d objects", r, findings, err, len(f.objects))
			}
			if got := f.content("s", "urn:x:1", "r"); got != c.want {
				t.Errorf("%d bytes, want %d", len(got), len(c.want))
			}
			if got := f.sets["s"].At(1).Resources[0].Content.Deflated; got != c.deflated {
				t.Errorf("deflated is %v", got)
			}

			r, _, err = f.run(Config{Files: dir}, record(c.field))
			if err != nil || r.Unchanged != 1 || len(f.objects) != 1 {
				t.Errorf("again: %+v, %v, %d objects", r, err, len(f.objects))
			}
		})
	}

	t.Run("what is declared does not hold", func(t *testing.T) {
		f := newFake(t)
		f.chunk, f.inline = chunkSize, inline
		for _, field := range []string{`"content_file":"words","length":1`, `"content_file":"words","hashes":{"sha-1":"aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"}`} {
			if r, _, err := f.run(Config{Files: dir}, record(field)); err != nil || r.Rejected != 1 || len(f.objects) > 0 {
				t.Errorf("%+v, %v, %d objects", r, err, len(f.objects))
			}
		}
	})
	t.Run("breaks off late", func(t *testing.T) {
		f := newFake(t)
		f.chunk, f.inline = chunkSize, inline
		text := base64.StdEncoding.EncodeToString([]byte(random))
		r, findings, err := f.run(Config{}, record(`"content_base64":"`+text[:len(text)-4]+`!"`))
		if err != nil || r.Rejected != 1 || len(f.objects) > 0 || !strings.Contains(findings[0], "representations[0].content_base64: is not base64") {
			t.Errorf("%+v, %v, %v, %d objects", r, findings, err, len(f.objects))
		}
	})
	t.Run("object store fails", func(t *testing.T) {
		f := newFake(t)
		im, err := New(f, noObjects{}, Config{Set: "s", Files: dir})
		if err != nil {
			t.Fatal(err)
		}
		im.inline = inline
		_, err = im.Run(context.Background(), []Input{Reader("x", strings.NewReader(record(`"content_file":"words"`)))})
		if !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "x:1: write object content/") {
			t.Errorf("error %v", err)
		}
	})
}

type noObjects struct{}

func (noObjects) Create(context.Context, string, io.Reader) (int64, error) { return 0, errBroken }
func (noObjects) Delete(context.Context, string) error                     { return nil }

// A record of many contents keeps so much inline at most, however small each is.
func TestManyContentsOfOneRecord(t *testing.T) {
	const one = 1 << 15
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "noise"), []byte(noise(one)), 0o600); err != nil {
		t.Fatal(err)
	}
	var files []string
	for i := range 10 {
		files = append(files, fmt.Sprintf(`{"name":"f%d","type":"application/octet-stream","content_file":"noise"}`, i))
	}
	l := `{"identifier":"urn:x:1","representations":[{"name":"r","type":"text/plain","content":"c"}],"files":[` + strings.Join(files, ",") + `]}`
	f := newFake(t)
	f.inline = 4 * one
	r, findings, err := f.run(Config{Files: dir}, l+"\n"+strings.Replace(l, "x:1", "x:2", 1))
	if err != nil || r.Created != 2 || len(f.objects) != 2*7 {
		t.Errorf("%+v, %v, %v, %d objects", r, findings, err, len(f.objects))
	}
}
