package ingest

import (
	"os"
	"strings"
	"testing"
)

// The examples of the description of the format are taken.
func TestDocumentedExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/format/records.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for i, part := range strings.Split(string(page), "```") {
		if text, ok := strings.CutPrefix(part, "json\n"); ok && i%2 == 1 {
			examples = append(examples, text)
		}
	}
	if len(examples) != 2 {
		t.Fatalf("%d examples, want 2", len(examples))
	}
	for i, c := range []Config{{Set: "s"}, {SetFrom: "set"}} {
		r, findings, err := newFake(t).run(c, examples[i])
		if err != nil || r.Created != 1 || len(findings) > 0 {
			t.Errorf("example %d: %+v, %v, %v", i+1, r, findings, err)
		}
	}
	for _, fields := range [][]string{recordFields, resourceFields, linkFields, hashFields} {
		for _, name := range fields {
			if !strings.Contains(string(page), name) {
				t.Errorf("the field %s is not described", name)
			}
		}
	}
}
