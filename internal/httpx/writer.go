package httpx

import (
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/gin-gonic/gin"
)

// writer is Gin's response with a way past it for files: Gin's own hides that
// the connection can take them from the kernel. It also carries what answers need
// besides request and document.
type writer struct {
	gin.ResponseWriter
	around *surroundings
	past   int // bytes that Gin did not see
}

// Size is the length of the body so far.
func (w *writer) Size() int { return max(w.ResponseWriter.Size(), 0) + w.past }

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// copyFile writes length bytes of f from offset on, and tells how many there
// were. An error is the connection's; a file that cannot be read has no more
// bytes.
func copyFile(w gin.ResponseWriter, f *os.File, offset, length int64) (int64, error) {
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, fmt.Errorf("seek: %w", err)
	}
	src := &io.LimitedReader{R: f, N: length}
	ours, ok := w.(*writer)
	if !ok {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	inner := http.ResponseWriter(ours.ResponseWriter)
	if u, ok := inner.(interface{ Unwrap() http.ResponseWriter }); ok {
		inner = u.Unwrap()
	}
	to, ok := inner.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	n, err := to.ReadFrom(src)
	ours.past += int(n)
	return n, err
}
