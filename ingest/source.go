package ingest

import (
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

// opened is the content of a source, ready to be read more than once.
type opened struct {
	size  int64 // at most, when not exact
	start func() (io.Reader, error)
	close func()
}

// open opens the content of src.
func (w *worker) open(src *source) (opened, error) {
	switch src.field {
	case fieldContentFile:
		f, size, err := openFile(w.root, src.file)
		if err != nil {
			return opened{}, err
		}
		start := func() (io.Reader, error) {
			_, err := f.Seek(0, io.SeekStart)
			return f, err
		}
		return opened{size: size, start: start, close: func() { f.Close() }}, nil
	case fieldContentBase64:
		start := func() (io.Reader, error) { return base64Reader(src.text.reader()), nil }
		return opened{size: int64(src.text.length) / 4 * 3, start: start, close: func() {}}, nil
	}
	start := func() (io.Reader, error) { return src.text.reader(), nil }
	return opened{size: int64(src.text.length), start: start, close: func() {}}, nil
}
