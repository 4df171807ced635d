package arch

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "gateway"

func check(packages []*source) (complaints []string) {
	for _, p := range packages {
		complaints = append(complaints, checkImports(module, p)...)
		complaints = append(complaints, checkComment(p)...)
		complaints = append(complaints, checkState(p)...)
	}
	slices.Sort(complaints)
	return complaints
}

// TestPicture holds the module to the picture.
func TestPicture(t *testing.T) {
	packages := load(t, "../..")
	if !slices.ContainsFunc(packages, func(p *source) bool { return p.path == "model" }) {
		t.Fatal("found no package model: this is not the module's root")
	}
	for _, c := range check(packages) {
		t.Error(c)
	}
}

// TestOffences shows that each rule can fail.
func TestOffences(t *testing.T) {
	want := strings.Split(strings.TrimSpace(`
atompmh/atompmh.go: atompmh may not import gorm.io/gorm
atompmh/atompmh.go: atompmh may not import store
atompmh/atompmh.go: imports model/modeltest, which is for tests
atompmh/second.go: the package comment does not begin with "Package atompmh "
atompmh: has 2 package comments, want one
model/model.go: model imports github.com/google/uuid; it is to need the standard library only
model/model.go: model may not import github.com/google/uuid
model/model.go:12: the package-level variable count starts without a value
model/model.go:17: has an init function
model/model.go:18: the package-level variable count is assigned
model/model.go:19: the package-level variable table is assigned
model/model.go:20: the package-level variable table is passed by address
model/model.go:21: calls os.Exit outside cmd/gateway/main.go
model: has 0 package comments, want one
stray: is not in the picture of packages
`), "\n")
	got := check(load(t, "testdata/offences"))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("complaints (-want +got):\n%s", d)
	}
}
