// Package fold rebuilds the state of a set from what a stranger can fetch, by
// following links only: once from the Atom chain, once from the Resource List
// and the changes after it, once from all Change Lists, and so from the dumps. It
// is how tests tell that every protocol says the same as the log.
//
// On its way a [Witness] checks what must hold at any moment, also while others
// write: the rules of the documents, that every link resolves, and that nothing
// that was called immutable ever changes.
package fold

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Resource is what the documents say of one resource.
type Resource struct {
	Type   string // without parameters
	Length int64
	SHA256 string
}

// Record is what the Atom chain says of one record.
type Record struct {
	Title      string
	Updated    string
	Alternates map[string]string // URI → media type with parameters
	Enclosures map[string]string
	Related    map[string]string
}

// Witness fetches documents and remembers the immutable ones. It is safe for
// concurrent use.
type Witness struct {
	Client *http.Client
	// Cache keeps immutable documents and does not fetch them again, as a client
	// may.
	Cache bool

	mu     sync.Mutex
	sealed map[string][32]byte // by URL
	kept   map[string]any      // if Cache: immutable documents, parsed
	got    int
}

// NewWitness is a witness that has seen nothing.
func NewWitness(client *http.Client) *Witness {
	return &Witness{Client: client, sealed: map[string][32]byte{}, kept: map[string]any{}}
}

// Documents is how many documents were fetched so far.
func (w *Witness) Documents() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got
}

// Get fetches a document and checks its delivery.
func (w *Witness) Get(url, mediaType string) ([]byte, error) {
	res, err := w.Client.Get(url)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	switch {
	case res.StatusCode != http.StatusOK:
		return nil, &StatusError{url, res.StatusCode, res.Header.Get("Cache-Control")}
	case res.Header.Get("Content-Type") != mediaType:
		return nil, fmt.Errorf("%s: Content-Type is %q, want %q", url, res.Header.Get("Content-Type"), mediaType)
	case !res.Uncompressed && res.ContentLength != int64(len(body)):
		return nil, fmt.Errorf("%s: Content-Length is %d of %d bytes", url, res.ContentLength, len(body))
	case res.Header.Get("ETag") == "" || strings.HasPrefix(res.Header.Get("ETag"), "W/"):
		return nil, fmt.Errorf("%s: no strong ETag", url)
	}
	sum := sha256.Sum256(body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got++
	was, sealed := w.sealed[url]
	if sealed && was != sum {
		return nil, fmt.Errorf("%s: was immutable and has changed", url)
	}
	if strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		w.sealed[url] = sum
	} else if sealed {
		return nil, fmt.Errorf("%s: was immutable and is not any more", url)
	}
	return body, nil
}

// Recheck fetches every immutable document seen so far again.
func (w *Witness) Recheck(mediaTypeOf func(url string) string) error {
	for _, u := range w.Sealed() {
		if _, err := w.Get(u, mediaTypeOf(u)); err != nil {
			return err
		}
	}
	return nil
}

// Sealed is the URLs of the immutable documents seen so far.
func (w *Witness) Sealed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	urls := make([]string, 0, len(w.sealed))
	for u := range w.sealed {
		urls = append(urls, u)
	}
	return urls
}

// StatusError is an answer that is not 200.
type StatusError struct {
	URL          string
	Status       int
	CacheControl string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%s: status %d", e.URL, e.Status) }

// document fetches and parses a document, or returns the one kept.
func document[T any](w *Witness, url, mediaType string) (*T, error) {
	w.mu.Lock()
	kept, ok := w.kept[url]
	w.mu.Unlock()
	if ok {
		return kept.(*T), nil
	}
	body, err := w.Get(url, mediaType)
	if err != nil {
		return nil, err
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	into := new(T)
	if err := d.Decode(into); err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, sealed := w.sealed[url]; sealed && w.Cache {
		w.kept[url] = into
	}
	return into, nil
}
