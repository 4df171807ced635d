package store

import (
	"time"

	"gateway/model"
)

// maxDocuments bounds the rows of documents kept; all of them go when there are
// more.
const maxDocuments = 4096

type documentKey struct {
	set  model.SetID
	path string
}

// sharedDocument is the row of a document that was found. It is used for as long
// as a view: a document does not change, but it expires with its snapshot.
type sharedDocument struct {
	began    time.Time
	document model.Document
}

// document returns the row if it was read a moment ago; otherwise asOf goes to
// keepDocument with what the caller reads.
func (c *views) document(key documentKey, now time.Time) (d model.Document, found bool, asOf int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shared, found := c.documents[key]
	return shared.document, found && now.Sub(shared.began) < viewFor, c.drops
}

// keepDocument shares a row read since now, unless this process has written
// meanwhile. What is not there is not kept: it may come at any moment.
func (c *views) keepDocument(key documentKey, d model.Document, now time.Time, asOf int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drops != asOf {
		return
	}
	if c.documents == nil || len(c.documents) >= maxDocuments {
		c.documents = map[documentKey]sharedDocument{}
	}
	c.documents[key] = sharedDocument{now, d}
}
