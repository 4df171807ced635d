package sitemap

import (
	"bytes"
	"testing"
)

// TestPlain puts each byte at each place of texts shorter and longer than what
// is looked at in one step.
func TestPlain(t *testing.T) {
	for size := range 20 {
		for place := range size {
			for c := range 256 {
				s := bytes.Repeat([]byte{'~'}, size)
				s[place] = byte(c)
				want := c >= ' ' && c < 0x80 && !bytes.ContainsRune([]byte(`"&<>`), rune(c))
				if got := plain(s); got != want {
					t.Fatalf("plain(%q) is %v", s, got)
				}
			}
		}
	}
}
