package atompmh_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gateway/atompmh"
	"gateway/model"
)

var update = flag.Bool("update", false, "write the golden files")

// documents are one of each kind, by the name of its golden file.
func documents(t *testing.T) map[string][]byte {
	w := full(t)
	empty := newWorld(t, 3)
	service, _, err := atompmh.AppendService(context.Background(), nil, w)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"subscription.golden.xml":       w.get("/atom/rivers"),
		"archive-1-sealed.golden.xml":   w.get("/atom/rivers/1/archive/1"),
		"archive-2-newest.golden.xml":   w.get("/atom/rivers/1/archive/2"),
		"complete.golden.xml":           w.get("/atom/rivers/complete"),
		"subscription-empty.golden.xml": empty.get("/atom/rivers"),
		"complete-empty.golden.xml":     empty.get("/atom/rivers/complete"),
		"service.golden.xml":            service,
	}
}

func TestGolden(t *testing.T) {
	for name, got := range documents(t) {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s (-golden +got):\n%s", name, d)
		}
	}
}

// TestSchema validates every kind of document, and those of a random-looking
// history, against the RELAX NG schema of RFC 4287.
func TestSchema(t *testing.T) {
	jing, err := exec.LookPath("jing")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("jing is missing, and CI wants it")
		}
		t.Skip("jing is not installed, so no document is checked against the schema")
	}
	folder := t.TempDir()
	arguments := []string{filepath.Join("testdata", "atom.rng")}
	add := func(name string, b []byte) {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		arguments = append(arguments, file)
	}
	for name, b := range documents(t) {
		if name != "service.golden.xml" { // RFC 5023 has another schema
			add(name, b)
		}
	}
	w := newWorld(t, 2)
	w.Set.Author.Name, w.Set.Title = "", "<&>\"'"
	nasty := amber()
	nasty.Title, nasty.Summary = "]]>\t\r\n\u2028", "&amp;"
	w.Commit(nasty, model.Record{Identifier: nasty.Identifier, Deleted: true}, small("x:\"<>", ""))
	add("nasty-subscription.xml", w.now().get("/atom/rivers"))
	add("nasty-archive.xml", w.get("/atom/rivers/1/archive/1"))
	t.Run("ATOM-13 valid by the schema", func(t *testing.T) {
		if out, err := exec.Command(jing, arguments...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("the schema refuses a feed without an id", func(t *testing.T) {
		bad := filepath.Join(folder, "bad.xml")
		if err := os.WriteFile(bad, []byte(`<feed xmlns="http://www.w3.org/2005/Atom"><title/></feed>`), 0o644); err != nil {
			t.Fatal(err)
		}
		if exec.Command(jing, arguments[0], bad).Run() == nil {
			t.Error("it does not")
		}
	})
}
