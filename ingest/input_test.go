package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"gateway/model"
)

// line is a minimal record.
func line(id string) string {
	return fmt.Sprintf(`{"identifier":%q,"title":"T","representations":[{"name":"r.xml","type":"application/xml","content":"<r>%s</r>"}]}`, id, id)
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(line(fmt.Sprintf("urn:x:%d", i)) + "\n")
	}
	return b.String()
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

func zstandard(t *testing.T, s string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(s), nil))
}

func TestFormsOfInput(t *testing.T) {
	plain := lines(0, 50)
	for name, text := range map[string]string{
		"plain":                  plain,
		"no end of the last":     strings.TrimSuffix(plain, "\n"),
		"CRLF":                   strings.ReplaceAll(plain, "\n", "\r\n"),
		"byte order mark":        "\ufeff" + plain,
		"empty lines":            "\n \t\r\n" + strings.ReplaceAll(plain, "\n", "\n\n  \n"),
		"gzip":                   gzipped(plain),
		"gzip of two members":    gzipped(lines(0, 20)) + gzipped(lines(20, 50)),
		"gzip of a marked":       gzipped("\ufeff" + plain),
		"zstd":                   zstandard(t, plain),
		"zstd after a skippable": "\x50\x2a\x4d\x18\x04\x00\x00\x00abcd" + zstandard(t, plain),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			r, findings, err := f.run(Config{}, text)
			if err != nil || len(findings) > 0 || r != (Result{Created: 50}) {
				t.Fatalf("%+v, %v, %v", r, findings, err)
			}
			if got := f.content("s", "urn:x:49", "r.xml"); got != "<r>urn:x:49</r>" {
				t.Errorf("content %q", got)
			}
			if r, _, err = f.run(Config{}, text); err != nil || r != (Result{Unchanged: 50}) {
				t.Errorf("again: %+v, %v", r, err)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b")
	for path, text := range map[string]string{a: lines(0, 10), b: gzipped(lines(5, 20))} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inputs, err := Files([]string{a, "-", b}, strings.NewReader(zstandard(t, lines(20, 25))))
	if err != nil {
		t.Fatal(err)
	}
	var last Progress
	f := newFake(t)
	r, _, err := f.runInputs(context.Background(), Config{Progress: func(p Progress) { last = p }}, inputs)
	if want := (Result{Created: 25, Unchanged: 5}); err != nil || r != want {
		t.Errorf("%+v, %v; want %+v", r, err, want)
	}
	if last.Lines != 30 || last.Bytes == 0 || last.Total != 0 {
		t.Errorf("progress ends with %+v", last)
	}

	if inputs, err = Files([]string{a, b}, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err = f.runInputs(context.Background(), Config{Progress: func(p Progress) { last = p }}, inputs); err != nil || last.Total != last.Bytes {
		t.Errorf("progress ends with %+v, %v", last, err)
	}
	for _, paths := range [][]string{{a, filepath.Join(dir, "none")}, {dir}, {"-", "-"}} {
		if _, err := Files(paths, strings.NewReader("")); err == nil {
			t.Errorf("%v were taken", paths)
		}
	}
}

func TestCutOffInput(t *testing.T) {
	// Ten members, so that what was written is known up to each.
	var whole string
	for i := range 10 {
		whole += gzipped(lines(10*i, 10*i+10))
	}
	f := newFake(t)
	r, findings, err := f.run(Config{}, whole[:len(whole)-9], lines(1000, 1002))
	if r.Created < 92 || r.Created > 102 || r.Rejected != 0 || len(findings) > 0 {
		t.Errorf("%+v, %v", r, findings)
	}
	want := fmt.Sprintf("a:%d: the input is cut off here; the complete lines before were read", r.Created-2+1)
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if f.sets["s"].last["urn:x:1001"] == 0 {
		t.Error("the input after it was not read")
	}

	t.Run("nothing but a magic number", func(t *testing.T) {
		_, _, err := f.run(Config{}, "\x1f\x8b", "\x28\xb5\x2f\xfd")
		if err == nil || !strings.Contains(err.Error(), "a:1: ") || !strings.Contains(err.Error(), "b:1: ") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("nothing is deleted for it", func(t *testing.T) {
		_, _, err := f.run(Config{Complete: true, MaxDeletes: "all"}, whole[:len(whole)-9])
		if err == nil || !strings.Contains(err.Error(), "nothing was deleted") {
			t.Errorf("error %v", err)
		}
		if f.sets["s"].Now().Head.Changes[model.Deleted] != 0 {
			t.Error("records were deleted")
		}
	})
}

// repeat yields n times a.
type repeat struct{ n int64 }

func (r *repeat) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.n)]
	for n := copy(p, "aaaaaaaaaaaaaaaa"); n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
	r.n -= int64(len(p))
	return len(p), nil
}

func TestLongLines(t *testing.T) {
	const size = 300_000_000
	long := func() io.Reader {
		return io.MultiReader(strings.NewReader(lines(0, 2)+`{"identifier":"`), &repeat{size - 15}, strings.NewReader("\r\n"+lines(2, 4)))
	}
	t.Run("300 MB", func(t *testing.T) {
		f := newFake(t)
		im, err := New(f, f, Config{Set: "s", MaxLine: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var findings []string
		im.config.Rejected = func(x Finding) { findings = append(findings, x.String()) }
		r, err := im.Run(context.Background(), []Input{Reader("long.jsonl", long())})
		if want := (Result{Created: 4, Rejected: 1}); err != nil || r != want {
			t.Errorf("%+v, %v; want %+v", r, err, want)
		}
		if d := cmp.Diff([]string{"long.jsonl:3: the line has 300000001 bytes; at most 1048576"}, findings); d != "" {
			t.Error(d)
		}
	})
	for name, text := range map[string]string{
		"last line":                  lines(0, 3) + strings.Repeat("x", 2000),
		"last line with its end":     lines(0, 3) + strings.Repeat("x", 2000) + "\n",
		"shorter than a chunk":       strings.Repeat("x", 1200) + "\n" + lines(0, 3),
		"two of them":                strings.Repeat("x", 3000) + "\n" + line("urn:x:0") + "\n" + strings.Repeat("x", 3000) + "\n\n" + lines(1, 3),
		"before short and long ones": strings.Repeat("x", 3000) + "\n" + line("urn:x:0") + "\n" + line("urn:x:1") + "\n" + strings.Repeat(" ", 900) + line("urn:x:2"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, chunk := range []int{16, 64, 1000, 100_000} {
				f := newFake(t)
				im, err := New(f, f, Config{Set: "s", MaxLine: 1100})
				if err != nil {
					t.Fatal(err)
				}
				im.chunk = chunk
				r, err := im.Run(context.Background(), []Input{Reader("x", strings.NewReader(text))})
				if err != nil || r.Created != 3 || r.Rejected != int64(strings.Count(text, strings.Repeat("x", 1200))+1)/2 {
					t.Errorf("chunks of %d: %+v, %v", chunk, r, err)
				}
			}
		})
	}
}
