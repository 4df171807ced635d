// Package resource serves what the lists of a set point at: the representations
// and files of its records, under URIs that stay.
//
//	/r/{set}/{record}          the record: its representations, negotiated
//	/r/{set}/{record}/{name}   one representation or file
//	/r/{set}?identifier=…      303 to the record with that identifier
//
// A resource goes out with the Content-Type its record gave it, byte for byte,
// because an Atom link promises that type and a browser must not guess another.
// Its ETag, length and hashes are those of the lists. What was here and is
// deleted answers 410, what never was 404; content that is elsewhere (href) is no
// resource of ours and has no URI here.
//
// Every answer leads on: to the Capability List that covers it (ResourceSync 1.1
// §6.3.3), from the record to its representations (alternate) and back
// (canonical), between files and the first representation (describedby,
// describes), and to the profile. Hosted content comes from others and shares our
// origin with everything else, so browsers are told to run it in a sandbox.
package resource

import (
	"context"
	"iter"

	"github.com/gin-gonic/gin"

	"gateway/internal/httpx"
	"gateway/model"
)

// Source is what this package asks of the store.
type Source interface {
	// View is a set by name; ErrNotFound when there is none. The renderer does
	// not matter here.
	View(ctx context.Context, set, renderer string) (model.View, error)
	// Record is the newest change of a record, a deleted one included, or
	// ErrNotFound.
	Record(ctx context.Context, set model.SetID, number model.RecordNumber) (*model.Change, error)
	// RecordByIdentifier is Record by the record's identifier.
	RecordByIdentifier(ctx context.Context, set model.SetID, identifier string) (*model.Change, error)
	// Changes are those at positions after < p ≤ last.
	Changes(ctx context.Context, set model.SetID, after, last model.Position) iter.Seq2[*model.Change, error]
	// OpenContent opens hosted content in its kept form.
	OpenContent(ctx context.Context, set model.SetID, key model.ContentKey) (model.Kept, error)
}

// Handler serves records and their resources.
type Handler struct {
	source         Source
	capabilityList func(set string) string
}

// New is a handler of the sets of source. capabilityList is the path of a set's
// Capability List below the base URL.
func New(source Source, capabilityList func(set string) string) *Handler {
	return &Handler{source: source, capabilityList: capabilityList}
}

// Register adds the handler's routes to r.
func (h *Handler) Register(r gin.IRoutes) {
	httpx.GET(r, "/r/:set", h.byIdentifier)
	httpx.GET(r, "/r/:set/:record", h.record)
	httpx.GET(r, "/r/:set/:record/:name", h.resource)
}
