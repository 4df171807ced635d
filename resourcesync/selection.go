package resourcesync

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"gateway/dump"
	"gateway/internal/httpx"
	"gateway/model"
	"gateway/sitemap"
)

// A selection is a package of the resources that a client names, as they are at
// the head: an extension of ours, for those who know what they miss. Its costs
// are bounded by these.
const (
	selections     = 4 // made or sent at a time
	selectionURIs  = 50_000
	selectionBytes = 16 << 20 // of a request's body

	selectionMaking  = time.Minute // time to read the request and look everything up
	selectionSending = time.Hour

	unknownNamed = 100 // unknown resources that an error names
)

// SelectionRelation is the relation of the link by which a Capability List says
// where selections are asked for. Clients that do not know it pass it by
// (ResourceSync 1.1 §14).
const SelectionRelation = "urn:gateway:rel:selection"

// selection answers POST with a package of the resources that the body names.
func (h *Handler) selection(c *gin.Context) {
	v, err := h.offered(c, ParseSelectionPath, resourceDump)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	select {
	case h.selecting <- struct{}{}:
		defer func() { <-h.selecting }()
	default:
		httpx.Fail(c, httpx.Busy(fmt.Sprintf("%d packages are being made of chosen resources", selections)))
		return
	}
	skip, err := skipsUnknown(c.Request)
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	s, err := h.selected(c, &v)
	if err == nil && len(s.unknown) > 0 && !skip {
		err = httpx.Unknown(s.unknown[:min(len(s.unknown), unknownNamed)], len(s.unknown))
	}
	if err != nil {
		httpx.Fail(c, err)
		return
	}
	if skip {
		c.Header("Gateway-Unknown", strconv.Itoa(len(s.unknown)))
	}
	h.sendSelection(c, s)
}

// skipsUnknown reads the parameter unknown.
func skipsUnknown(r *http.Request) (bool, error) {
	switch value := r.URL.Query().Get("unknown"); value {
	case "":
		return false, nil
	case "skip":
		return true, nil
	default:
		return false, &model.FieldError{Field: "unknown", Reason: fmt.Sprintf("is %q; want skip, or nothing", value)}
	}
}

// selected makes the package that the request asks for, but for its content.
func (h *Handler) selected(c *gin.Context, v *model.View) (*selection, error) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), selectionMaking)
	defer cancel()
	uris, err := readURIs(ctx, http.MaxBytesReader(c.Writer, c.Request.Body, selectionBytes), selectionURIs)
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			err = httpx.TooLarge(fmt.Sprintf("a body of at most %d bytes is taken", selectionBytes))
		}
		return nil, err
	}
	return newSelection(ctx, h.source, v, uris)
}

// sendSelection streams the package. One that breaks midway ends the connection.
func (h *Handler) sendSelection(c *gin.Context, s *selection) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), selectionSending)
	defer cancel()
	header := c.Writer.Header()
	header.Set("Content-Type", dump.MediaType)
	header.Set("Content-Length", strconv.FormatInt(s.index.Size(), 10))
	header.Set("Cache-Control", "no-store")
	c.Status(http.StatusOK)
	c.Writer.WriteHeaderNow()
	err := writeRange(c.Writer, s.head, bytes.NewReader(s.manifest), 0, s.head.MembersSize())
	if err == nil {
		content := &contents{ctx: ctx, source: h.source, set: s.set, layout: &s.layout}
		defer content.close()
		err = writeRange(c.Writer, s.index, content, s.head.MembersSize(), s.index.Size()-s.head.MembersSize())
	}
	if err != nil {
		httpx.Fail(c, fmt.Errorf("send chosen resources: %w", cmp.Or(c.Request.Context().Err(), err)))
	}
}

// selection is a package of chosen resources.
type selection struct {
	layout
	set      model.SetID
	head     *dump.Index // of the manifest alone
	manifest []byte      // as it is kept
	unknown  []string    // URIs of no resource, in the order of the request
}

// wanted is a resource that was asked for.
type wanted struct {
	record model.RecordNumber
	name   string
	nth    int // in the request
}

// newSelection looks up the resources with the given URIs as they are at the
// head of v.
func newSelection(ctx context.Context, src Source, v *model.View, uris []string) (*selection, error) {
	var missing []int // indexes into uris
	all := make([]wanted, 0, len(uris))
	for i, uri := range uris {
		number, name, err := model.ParseResourceURI(uri, v.Epoch.BaseURL, v.Set.Name)
		if err != nil {
			missing = append(missing, i)
			continue
		}
		all = append(all, wanted{number, name, i})
	}
	slices.SortFunc(all, func(a, b wanted) int {
		return cmp.Or(cmp.Compare(a.record, b.record), cmp.Compare(a.name, b.name), cmp.Compare(a.nth, b.nth))
	})
	all = slices.CompactFunc(all, func(a, b wanted) bool { return a.record == b.record && a.name == b.name })

	out := &memory{}
	p, err := beginPackage(out, model.Package{
		Path: SelectionPath(v.Set.Name), Manifest: dump.ManifestName, Position: v.Head.Position, LastModified: v.Head.Time,
	}, &sitemap.Root{
		Links: []sitemap.Link{up(v)},
		MD:    sitemap.MD{Capability: dump.ResourceDumpManifest, At: v.Head.Time.Append(nil)},
	})
	if err != nil {
		return nil, err
	}
	s := &selection{set: v.Set.ID}
	e := entriesOf(v)
	var path []byte
	take := func(c *model.Change, of []wanted) error {
		for _, w := range of {
			r := c.Resource(w.name)
			if r == nil || r.External() {
				missing = append(missing, w.nth)
				continue
			}
			e.resource(c, r)
			path = dump.AppendResourcePath(path[:0], c.Record, r.Name)
			s.keys = append(s.keys, r.Key)
			if err := p.add(&e.entry, path, r); err != nil {
				return err
			}
		}
		return nil
	}
	if err := statesOf(ctx, src, v, all, take); err != nil {
		return nil, fmt.Errorf("look up chosen resources of set %s: %w", v.Set.Name, err)
	}
	if s.index, err = p.finish(); err != nil {
		return nil, err
	}
	s.manifest = out.kept.Bytes()
	if s.head, err = newIndex(&p.row, &out.content, 0); err != nil {
		return nil, err
	}
	slices.Sort(missing)
	seen := make(map[string]bool, len(missing))
	for _, i := range missing {
		if !seen[uris[i]] {
			seen[uris[i]] = true
			s.unknown = append(s.unknown, uris[i])
		}
	}
	return s, nil
}

// nothing is a record that is not there.
var nothing = new(model.Change)

const (
	// scanGap is how far apart the records of a scan lie at most, and scanLeast
	// how many they are at least: otherwise each is looked up.
	scanGap   = 8
	scanLeast = 32
)

// statesOf calls take for each record of all, which are in order, with its state
// at the head of v and those of all that are its resources. Records close
// together are read by one scan.
func statesOf(ctx context.Context, src Source, v *model.View, all []wanted, take func(c *model.Change, of []wanted) error) error {
	for len(all) > 0 {
		n, records := 1, 1
		for n < len(all) && all[n].record-all[n-1].record <= scanGap {
			if all[n].record != all[n-1].record {
				records++
			}
			n++
		}
		var err error
		if records >= scanLeast {
			err = scanStates(ctx, src, v, all[:n], take)
		} else {
			n = sameRecord(all)
			err = oneState(ctx, src, v, all[:n], take)
		}
		if err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// sameRecord is how many of all are of the first one's record.
func sameRecord(all []wanted) int {
	n := 1
	for n < len(all) && all[n].record == all[0].record {
		n++
	}
	return n
}

// scanStates takes the records of all from the log's states, in order.
func scanStates(ctx context.Context, src Source, v *model.View, all []wanted, take func(c *model.Change, of []wanted) error) error {
	skip := func(before model.RecordNumber) error {
		for len(all) > 0 && all[0].record < before {
			n := sameRecord(all)
			if err := take(nothing, all[:n]); err != nil {
				return err
			}
			all = all[n:]
		}
		return nil
	}
	last := all[len(all)-1].record
	for c, err := range src.States(ctx, v.Set.ID, v.Head.Position, all[0].record-1) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := skip(c.Record); err != nil {
			return err
		}
		if len(all) > 0 && all[0].record == c.Record {
			n := sameRecord(all)
			if err := take(c, all[:n]); err != nil {
				return err
			}
			all = all[n:]
		}
		if c.Record >= last {
			break
		}
	}
	return skip(last + 1)
}

// oneState takes one record. A change that is newer than the head of v leads
// back to the one that was there.
func oneState(ctx context.Context, src Source, v *model.View, of []wanted, take func(c *model.Change, of []wanted) error) error {
	c, err := src.Record(ctx, v.Set.ID, of[0].record)
	if errors.Is(err, model.ErrNotFound) {
		return take(nothing, of)
	}
	if err != nil {
		return err
	}
	for c.Position > v.Head.Position {
		if c.Previous == 0 {
			return take(nothing, of)
		}
		var before *model.Change
		for p, err := range src.Changes(ctx, v.Set.ID, c.Previous-1, c.Previous) {
			if err != nil {
				return err
			}
			copied := *p
			copied.Resources = slices.Clone(p.Resources)
			before = &copied
		}
		if before == nil {
			return fmt.Errorf("change %d: %w", c.Previous, model.ErrNotFound)
		}
		c = before
	}
	if !c.Live() {
		c = nothing
	}
	return take(c, of)
}
