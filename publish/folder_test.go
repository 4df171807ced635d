package publish_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gateway/model"
	"gateway/publish"
)

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	f, err := publish.OpenFolder(dir, "one", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if n, err := f.Create(ctx, "documents/ab/abcd-1", strings.NewReader("hello")); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := f.Create(ctx, "documents/ab/abcd-1", strings.NewReader("other")); !errors.Is(err, model.ErrExists) {
		t.Errorf("a key in use: %v", err)
	}
	k, err := f.Open(ctx, "documents/ab/abcd-1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(k, 0, k.Size()))
	k.Close()
	if string(got) != "hello" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := f.Open(ctx, "documents/none"); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("no such object: %v", err)
	}
	if _, err := f.Create(ctx, "broken", io.MultiReader(strings.NewReader("half"), failing{})); !errors.Is(err, errLost) {
		t.Errorf("a reader that fails: %v", err)
	}
	if _, err := f.Open(ctx, "broken"); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("half an object is there: %v", err)
	}
	var keys []string
	for o, err := range f.List(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	if len(keys) != 1 || keys[0] != "documents/ab/abcd-1" {
		t.Errorf("listed %v", keys)
	}
	for range 2 {
		if err := f.Delete(ctx, "documents/ab/abcd-1"); err != nil {
			t.Error(err)
		}
	}
	for _, key := range []string{"", "../x", "/etc/passwd", "a/../../x", "UPPER", `a\b`, "a b"} {
		if _, err := f.Create(ctx, key, strings.NewReader("x")); err == nil {
			t.Errorf("key %q was taken", key)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errLost }

func TestFolderOfAnotherStore(t *testing.T) {
	dir := t.TempDir()
	var id string
	for range 2 {
		f, err := publish.OpenFolder(dir, "one", id)
		if err != nil {
			t.Fatal(err)
		}
		if id != "" && f.ID() != id {
			t.Errorf("the folder was %s and is %s", id, f.ID())
		}
		id = f.ID()
	}
	if _, err := publish.OpenFolder(dir, "two", ""); err == nil || !strings.Contains(err.Error(), "another store") {
		t.Errorf("the folder of another database: %v", err)
	}
	if _, err := publish.OpenFolder(dir, "one", "other"); err == nil || !strings.Contains(err.Error(), "another store") {
		t.Errorf("another folder of the database: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "objects")
	if _, err := publish.OpenFolder(empty, "one", id); err == nil || !strings.Contains(err.Error(), "new or empty") {
		t.Errorf("an empty folder for a database that has one: %v", err)
	}
	if _, err := os.Stat(empty); !os.IsNotExist(err) {
		t.Errorf("the refused folder was made: %v", err)
	}
}
