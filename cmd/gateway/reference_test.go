package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"gateway/internal/config"
)

var update = flag.Bool("update", false, "write docs/reference/cli.md anew")

const referenceFile = "../../docs/reference/cli.md"

// TestReference holds docs/reference/cli.md to the command line.
func TestReference(t *testing.T) {
	parser := newTestParser(t)
	want := reference(parser.Model.Node)
	if *update {
		if err := os.WriteFile(referenceFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("%s is not what the commands say; go test ./cmd/gateway -run Reference -update writes it anew (-want +got):\n%s", referenceFile, d)
	}
}

func newTestParser(t *testing.T) *kong.Kong {
	t.Helper()
	c := &cli{settings: config.New(func(string) (string, bool) { return "", false })}
	parser, err := newParser(c, console{out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// reference is the command line as a page.
func reference(app *kong.Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Command line\n\n<!-- Written by go test ./cmd/gateway -run Reference -update. -->\n\n%s\n\n", description)
	b.WriteString("Exit status: 0 done; 1 the work was done, but not all of it succeeded; 2 wrong usage or configuration.\n\n")
	b.WriteString("| command | does |\n|---|---|\n")
	for _, c := range app.Children {
		fmt.Fprintf(&b, "| [`%s`](#gateway-%[1]s) | %s |\n", c.Name, c.Help)
	}
	b.WriteString("\n## Flags of all commands\n\n")
	flagTable(&b, app.Flags)
	for _, c := range app.Children {
		fmt.Fprintf(&b, "\n## gateway %s\n\n`gateway %s`\n\n%s\n", c.Name, c.Summary(), c.Help)
		if c.Detail != "" {
			fmt.Fprintf(&b, "\n%s\n", c.Detail)
		}
		if len(c.Positional) > 0 {
			b.WriteString("\n| argument | |\n|---|---|\n")
			for _, p := range c.Positional {
				fmt.Fprintf(&b, "| `%s` | %s |\n", p.Summary(), p.Help)
			}
		}
		if len(c.Flags) > 0 {
			b.WriteString("\n")
			flagTable(&b, c.Flags)
		}
	}
	return b.String()
}

func flagTable(b *strings.Builder, flags []*kong.Flag) {
	b.WriteString("| flag | variable | |\n|---|---|---|\n")
	for _, f := range flags {
		env := "–"
		if f.Name != "help" {
			env = "`" + config.EnvName(f.Name) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", strings.ReplaceAll(f.String(), "|", `\|`), env, f.Help)
	}
}

// TestHelp wants something to read about every command and flag, and that no
// two flags of one name mean different things, because they share a variable.
func TestHelp(t *testing.T) {
	parser := newTestParser(t)
	seen := map[string]string{}
	for _, c := range append([]*kong.Node{parser.Model.Node}, parser.Model.Children...) {
		if c.Help == "" || strings.Contains(c.Help, "${") {
			t.Errorf("%s: help is %q", c.Name, c.Help)
		}
		for _, f := range c.Flags {
			if f.Help == "" || !strings.HasSuffix(f.Help, ".") {
				t.Errorf("%s --%s: help is %q; want a sentence", c.Name, f.Name, f.Help)
			}
			if kind := f.Target.Type().String(); seen[f.Name] != "" && seen[f.Name] != kind {
				t.Errorf("--%s is a %s of one command and a %s of another", f.Name, seen[f.Name], kind)
			} else {
				seen[f.Name] = kind
			}
		}
	}
}
