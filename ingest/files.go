package ingest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"

	"gateway/model"
)

// openFile opens a content_file. Its path is relative, without way out of the
// directory, not even by a symbolic link.
func openFile(root *os.Root, path string) (*os.File, int64, error) {
	fail := func(format string, args ...any) (*os.File, int64, error) {
		return nil, 0, &model.FieldError{Field: "content_file", Reason: fmt.Sprintf(format, args...)}
	}
	if root == nil {
		return fail("no directory was given to look it up in (--files)")
	}
	if !fs.ValidPath(path) {
		return fail("%s is not a path below the directory of files: it is to be relative, with / between names, and without . and ..", shorten(path))
	}
	// Looked at first, because opening a pipe would wait for a writer.
	st, err := root.Stat(path)
	if err != nil {
		return fail("%v", err)
	}
	if !st.Mode().IsRegular() {
		return fail("%s is not a regular file", shorten(path))
	}
	f, err := root.Open(path)
	if err != nil {
		return fail("%v", err)
	}
	return f, st.Size(), nil
}

// unescaper reads what the inside of a JSON string stands for, a piece at a time.
type unescaper struct {
	raw     []byte
	buf     []byte
	pending []byte
}

const unescapeSize = 32 << 10

// Read implements [io.Reader].
func (u *unescaper) Read(p []byte) (int, error) {
	if len(u.pending) == 0 {
		if len(u.raw) == 0 {
			return 0, io.EOF
		}
		u.buf, u.raw = unescape(u.buf[:0], u.raw, unescapeSize)
		u.pending = u.buf
	}
	n := copy(p, u.pending)
	u.pending = u.pending[n:]
	return n, nil
}

// reader yields what t stands for.
func (t *text) reader() io.Reader {
	if !t.escaped {
		return bytes.NewReader(t.raw)
	}
	return &unescaper{raw: t.raw}
}

// base64Reader yields what r holds in base64 (RFC 4648 §4; line breaks may stand
// in it).
func base64Reader(r io.Reader) io.Reader { return base64.NewDecoder(base64.StdEncoding, r) }

// readError tells a mistake in what was sent from a failure to read it.
func readError(field int, err error) error {
	if field == fieldContentBase64 {
		return &model.FieldError{Field: "content_base64", Reason: "is not base64: " + err.Error()}
	}
	return &model.FieldError{Field: resourceFields[field], Reason: err.Error()}
}
