package dump

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"gateway/model"
)

// maxComponent is the greatest length of an escaped name. With the folders
// above it a path stays below 140 bytes, which leaves Windows' 260 characters
// some room for the folder a package is unpacked in.
const maxComponent = 100

// AppendResourcePath appends the path of a resource in a Resource Dump:
// resources/{record}/{escaped name}.
func AppendResourcePath(b []byte, record model.RecordNumber, name string) []byte {
	b = append(b, "resources/"...)
	b = strconv.AppendInt(b, int64(record), 10)
	b = append(b, '/')
	return appendEscapedName(b, name)
}

// AppendChangePath appends the path of a resource in a Change Dump:
// changes/{position}/{escaped name}. The position is that of the change, so that
// every state of a resource has a path of its own.
func AppendChangePath(b []byte, position model.Position, name string) []byte {
	b = append(b, "changes/"...)
	b = strconv.AppendInt(b, int64(position), 10)
	b = append(b, '/')
	return appendEscapedName(b, name)
}

// appendEscapedName appends a resource's name so that it is a safe file name
// everywhere and no two names meet, not even where upper and lower case, or the
// composed and decomposed forms of a letter, are one. The result consists of
// a–z, 0–9 and - _ . ! = only:
//
//   - lower-case letters, digits, hyphen, underscore and dot stand for
//     themselves; an upper-case letter is ! and its lower-case form;
//   - every other byte is = and two hexadecimal digits, and so are a dot that
//     begins the name (a hidden file), one that ends it (Windows drops it), and
//     the first letter of a device name of Windows such as con or lpt1.xml;
//   - a name that comes out longer than maxComponent is cut, with == and half
//     of its SHA-256 before its extension. Only that cannot be turned back; ==
//     does not occur otherwise.
func appendEscapedName(b []byte, name string) []byte {
	start := len(b)
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_',
			c == '.' && i > 0 && i < len(name)-1:
			b = append(b, c)
		case 'A' <= c && c <= 'Z':
			b = append(b, '!', c+'a'-'A')
		default:
			b = appendHexByte(b, c)
		}
	}
	if isDevice(b[start:]) { // its first letter stands for itself
		rest := string(b[start+1:])
		b = append(appendHexByte(b[:start], name[0]), rest...)
	}
	if len(b)-start > maxComponent {
		return shorten(b, start, name)
	}
	return b
}

func appendHexByte(b []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	return append(b, '=', digits[c>>4], digits[c&15])
}

// isDevice tells whether Windows takes a file of this name for a device, which
// it does whatever the extension. Names with characters that are escaped, as
// CONIN$ and COM¹ have, need no look.
func isDevice(escaped []byte) bool {
	stem, _, _ := bytes.Cut(escaped, []byte("."))
	switch string(stem) {
	case "con", "prn", "aux", "nul":
		return true
	}
	if len(stem) != 4 || stem[3] < '0' || stem[3] > '9' {
		return false
	}
	return string(stem[:3]) == "com" || string(stem[:3]) == "lpt"
}

// shorten cuts the escaped name at b[start:] to maxComponent bytes.
func shorten(b []byte, start int, name string) []byte {
	const maxExtension = 12
	escaped := string(b[start:])
	extension := ""
	if dot := strings.LastIndexByte(escaped, '.'); dot > 0 && len(escaped)-dot <= maxExtension {
		extension = escaped[dot:]
	}
	sum := sha256.Sum256([]byte(name))
	digest := "==" + hex.EncodeToString(sum[:16])
	keep := maxComponent - len(digest) - len(extension)
	// Not in the middle of an escape: its mark is at most two bytes back.
	for back := 1; back <= 2; back++ {
		if c := escaped[keep-back]; c == '=' || c == '!' && back == 1 {
			keep -= back
			break
		}
	}
	b = append(b[:start], escaped[:keep]...)
	b = append(b, digest...)
	return append(b, extension...)
}
