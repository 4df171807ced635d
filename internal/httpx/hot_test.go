package httpx

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/gin-gonic/gin"
)

// From the third request on a sealed document comes from memory, in every coding
// and in ranges, and is the same.
func TestHotDocuments(t *testing.T) {
	text := digits(50_000)
	s, shelf := variants(t, text, true)
	e := serving(t, s)
	for _, accept := range []string{"identity", "gzip", "zstd"} {
		first := content(t, ask(e, "GET", "/doc", "Accept-Encoding", accept))
		ask(e, "GET", "/doc", "Accept-Encoding", accept)
		opened := shelf.opened
		if got := content(t, ask(e, "GET", "/doc", "Accept-Encoding", accept)); got != first {
			t.Errorf("%s: %d bytes, want %d", accept, len(got), len(first))
		}
		res := ask(e, "GET", "/doc", "Accept-Encoding", accept, "Range", "bytes=100-200")
		if got := content(t, res); got != first[100:201] || res.StatusCode != 206 {
			t.Errorf("%s: %d, %d bytes", accept, res.StatusCode, len(got))
		}
		if shelf.opened != opened {
			t.Errorf("%s: opened %d times more", accept, shelf.opened-opened)
		}
	}
}

// Nothing damaged is repeated from memory, and hosted content is not kept there.
func TestNotHot(t *testing.T) {
	text := digits(50_000)
	for _, accept := range []string{"identity", "gzip", "zstd"} {
		s, shelf := variants(t, text, true)
		shelf.bytes = bytes.Clone(shelf.bytes)
		shelf.bytes[1000] ^= 1
		shelf.bytes[s.Content.Stored+1000] ^= 1
		e := serving(t, s)
		for n := range 4 {
			func() {
				defer func() { _ = recover() }() // the connection is aborted
				ask(e, "GET", "/doc", "Accept-Encoding", accept)
			}()
			if shelf.opened != n+1 {
				t.Errorf("%s: request %d opened nothing", accept, n+1)
			}
		}
	}
	s, shelf := variants(t, text, true)
	s.Caching = Resource
	e := engine(t, io.Discard)
	GET(e, "/doc", func(c *gin.Context) { ServeStored(c, s) })
	for range 4 {
		ask(e, "GET", "/doc")
	}
	if shelf.opened != 4 {
		t.Errorf("hosted content was opened %d times", shelf.opened)
	}
}

func TestHotIsBounded(t *testing.T) {
	var h hot
	body := make([]byte, hotBytes/10)
	for n := range 100 {
		h.put(fmt.Sprint(n), body)
		if h.get("0") == nil {
			t.Fatalf("what is used all the time is gone after %d others", n)
		}
	}
	kept := 0
	for _, m := range []map[string][]byte{h.now, h.before} {
		for _, b := range m {
			kept += len(b)
		}
	}
	if kept > 2*hotBytes || h.get("50") != nil {
		t.Errorf("%d bytes are kept", kept)
	}
	if h.wants("a", hotLength+1) || h.wants("a", hotLength) || !h.wants("a", hotLength) {
		t.Error("wants what is too long or asked for once")
	}
	for n := range 2 * hotSeen {
		h.wants(fmt.Sprint(n), 1)
	}
	if len(h.seen) > hotSeen {
		t.Errorf("%d are remembered", len(h.seen))
	}
}
