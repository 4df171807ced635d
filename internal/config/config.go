// Package config looks up settings that were not given as flags: in the
// environment first, then in a YAML file.
//
// Every flag has one variable, [EnvName], and one key in the file, its name
// without the dashes. A key that is no flag is an error, so that a misspelt
// setting never goes unnoticed. A variable that is set but empty counts as not
// set, because container tools pass what is unset on as empty.
package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

const envPrefix = "GATEWAY_"

// EnvName is the environment variable of a flag: base-url has GATEWAY_BASE_URL.
func EnvName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Settings are values of flags from outside the command line.
type Settings struct {
	lookupEnv func(string) (string, bool)
	path      string // of the file; "" is none
	values    map[string]value
}

// value is one key's value in the file: a string, a []any or a map[string]any
// of strings. Numbers and booleans stay text, as they would be on the command
// line.
type value struct {
	v    any
	line int
}

// New are the settings of the environment alone. lookupEnv is os.LookupEnv but
// for tests.
func New(lookupEnv func(string) (string, bool)) *Settings {
	return &Settings{lookupEnv: lookupEnv}
}

// Env is the environment's value of flag, or "".
func (s *Settings) Env(flag string) string {
	v, _ := s.lookupEnv(EnvName(flag))
	return v
}

// Load adds the YAML file at path, whose keys must be among flags.
func (s *Settings) Load(path string, flags []string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open configuration: %w", err)
	}
	defer f.Close()
	values, err := parse(f, flags)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	s.path, s.values = path, values
	return nil
}

// Lookup finds flag's value and says where it stands, for error messages. ok is
// false when it is set nowhere.
func (s *Settings) Lookup(flag string) (v any, origin string, ok bool) {
	if v := s.Env(flag); v != "" {
		return v, "environment variable " + EnvName(flag), true
	}
	if v, ok := s.values[flag]; ok {
		return v.v, fmt.Sprintf("%s:%d: %s", s.path, v.line, flag), true
	}
	return nil, "", false
}

func parse(r io.Reader, flags []string) (map[string]value, error) {
	var doc yaml.Node
	decoder := yaml.NewDecoder(r)
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil // nothing but comments
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more than one document")
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: want keys with values", root.Line)
	}
	values := make(map[string]value, len(root.Content)/2)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		if !slices.Contains(flags, key.Value) {
			return nil, fmt.Errorf("line %d: unknown key %q%s", key.Line, key.Value, suggest(key.Value, flags))
		}
		if _, twice := values[key.Value]; twice {
			return nil, fmt.Errorf("line %d: key %q stands twice", key.Line, key.Value)
		}
		v, err := plain(root.Content[i+1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", key.Line, key.Value, err)
		}
		if v != nil {
			values[key.Value] = value{v: v, line: key.Line}
		}
	}
	return values, nil
}

// plain is n as text, a list of texts or texts by key; nil for null.
func plain(n *yaml.Node) (any, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return nil, nil
		}
		return n.Value, nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: want a text", item.Line)
			}
			list = append(list, item.Value)
		}
		return list, nil
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i+1].Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: want a text", n.Content[i+1].Line)
			}
			m[n.Content[i].Value] = n.Content[i+1].Value
		}
		return m, nil
	}
	return nil, errors.New("want a text, a list or keys with values")
}

// suggest names the flag that key means if only its spelling of dashes or case
// differs, which is how it goes wrong most.
func suggest(key string, flags []string) string {
	fold := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	for _, f := range flags {
		if fold(f) == fold(key) {
			return fmt.Sprintf("; did you mean %q?", f)
		}
	}
	return ""
}
