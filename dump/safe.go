package dump

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// unsafePath says why a file must not be written under a path, or "". The path
// of a folder comes without the slash at its end.
func unsafePath(s string) string {
	switch {
	case s == "":
		return "the path is empty"
	case s[0] == '/':
		return "the path is absolute"
	case !utf8.ValidString(s):
		return "the path is not UTF-8"
	case len(s) > 1 && s[1] == ':' && isLetter(s[0]):
		return "the path has a drive letter"
	}
	start := 0 // of the part that i is in
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == '/':
			switch part := s[start:i]; part {
			case "":
				return "the path has an empty part"
			case ".", "..":
				return "the path has the part " + part
			}
			start = i + 1
		case s[i] == '\\':
			return "the path has a backslash"
		case s[i] < ' ' || s[i] == 0x7f:
			return "the path has a control character"
		}
	}
	return ""
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// fold maps paths that a file system without regard to case takes for one to
// one string.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || r < 'A' {
			return r
		}
		least := r
		if r >= utf8.RuneSelf {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				least = min(least, f)
			}
		}
		// The least relative of the Kelvin sign and of the long s is ASCII.
		if 'A' <= least && least <= 'Z' {
			least += 'a' - 'A'
		}
		return least
	}, s)
}

// tree holds the folded paths of a package, to see that each is one thing only.
type tree map[string]kind

type kind uint8

const (
	file    kind = iota + 1
	folder       // listed itself
	implied      // a folder that has members
)

// add enters a path and says why it cannot be, or "".
func (t tree) add(path string, k kind) string {
	key := fold(path)
	switch was := t[key]; {
	case was == file && k == file, was == folder && k == folder:
		return "there are two of that name, or of names that differ in case only"
	case was == file || was != 0 && k == file:
		return "it is a file and a folder"
	}
	t[key] = k
	for i := strings.LastIndexByte(key, '/'); i > 0; i = strings.LastIndexByte(key[:i], '/') {
		switch t[key[:i]] {
		case file:
			return "a folder above it is a file"
		case 0:
			t[key[:i]] = implied
		}
	}
	return ""
}
