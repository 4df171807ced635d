package httpx

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"gateway/model"
)

func TestRendered(t *testing.T) {
	text := sample(50_000)
	rendered := 0
	doc := Rendered{
		Type: "application/atom+xml", ETag: "atom-1-2-3", LastModified: model.TimeOf(noon) - 2_000_000, Caching: Moving,
		Render: func(b []byte) ([]byte, error) {
			rendered++
			return append(b, text...), nil
		},
	}
	e := engine(t, io.Discard)
	GET(e, "/doc", func(c *gin.Context) { ServeRendered(c, doc) })
	GET(e, "/hashed", func(c *gin.Context) {
		hashed := doc
		hashed.ETag = ""
		ServeRendered(c, hashed)
	})
	GET(e, "/broken", func(c *gin.Context) {
		ServeRendered(c, Rendered{ETag: "x", Render: func(b []byte) ([]byte, error) { return append(b, "<half"...), errDisk }})
	})

	for _, accept := range []string{"identity", "gzip", "zstd"} {
		for _, path := range []string{"/doc", "/hashed"} {
			t.Run(path+" "+accept, func(t *testing.T) {
				res := ask(e, "GET", path, "Accept-Encoding", accept, "Range", "bytes=1-2")
				body := content(t, res)
				for name, want := range map[string]string{
					"Content-Type": "application/atom+xml", "Cache-Control": "public, max-age=0, must-revalidate", "Vary": "Accept-Encoding",
					"Last-Modified": "Sun, 01 Mar 2026 11:59:58 GMT", "Content-Length": strconv.Itoa(len(body)), "Accept-Ranges": "",
				} {
					if got := res.Header.Get(name); got != want {
						t.Errorf("%s is %q, want %q", name, got, want)
					}
				}
				switch suffix := map[string]string{"gzip": `-gz"`, "zstd": `-zst"`}[accept]; {
				case accept == "identity":
				case res.Header.Get("Content-Encoding") != accept || !strings.HasSuffix(res.Header.Get("Etag"), suffix):
					t.Errorf("%v", res.Header)
				default:
					body = decoded(t, accept, body)
				}
				if body != string(text) || res.StatusCode != 200 {
					t.Errorf("%d, %d bytes", res.StatusCode, len(body))
				}
				head := ask(e, "HEAD", path, "Accept-Encoding", accept)
				if !headersEqual(res.Header, head.Header) || content(t, head) != "" {
					t.Errorf("HEAD %v differs from GET %v", head.Header, res.Header)
				}
				rendered = 0
				res = ask(e, "GET", path, "Accept-Encoding", accept, "If-None-Match", res.Header.Get("Etag"))
				if res.StatusCode != 304 {
					t.Errorf("%d", res.StatusCode)
				}
				if path == "/doc" && rendered > 0 {
					t.Error("rendered for a 304")
				}
			})
		}
	}
	t.Run("a mistake before the answer is a problem", func(t *testing.T) {
		res := ask(e, "GET", "/broken")
		if res.StatusCode != 500 || res.Header.Get("Etag") != "" || strings.Contains(content(t, res), "<half") {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
	})
	t.Run("identity and gzip refused", func(t *testing.T) {
		res := ask(e, "GET", "/doc", "Accept-Encoding", "*;q=0")
		if res.StatusCode != http.StatusNotAcceptable || res.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
	})
	for _, coding := range []string{gzipped, zstandard} {
		t.Run(coding+" again gives the same bytes, as a strong ETag says", func(t *testing.T) {
			first := compress(nil, text, coding)
			_ = compress(nil, sample(300_000), coding)
			if !bytes.Equal(first, compress(nil, text, coding)) {
				t.Error("they differ")
			}
		})
	}
}
