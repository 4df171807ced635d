// Package atompmh publishes a set's log as an Atom archived feed: RFC 4287, RFC
// 5005 §4 and Atom-PMH (draft 2012-11-23).
//
// What a consumer can rely on, at every moment and between any two requests:
//
//   - Every change of the log is one entry, whose id is the record's identifier
//     and whose updated is the time of the change. An entry never changes: the
//     newest of its record is active, or a deletion, and the older ones are
//     historical.
//   - The subscription document holds the newest published segment and what
//     follows it, so it is empty only while the set has never had a change.
//   - Archive document n holds segment n. Its prev-archive is n-1; the
//     subscription document's is the one before the newest published segment.
//     Following prev-archive from the subscription document gives every change
//     up to the one the document is updated at, each exactly once, newest first.
//   - updated of a document is the time of the last change in it, so it is
//     never older than an entry in it, and the document behind prev-archive is
//     older than every entry before it. No document knows the time of day.
//   - Archive n is sealed, that is stored and never rendered again, when n+1 is
//     published; it has next-archive from then on. Until then it is rendered on
//     request, without next-archive, and its entries are the final ones already.
//   - The complete feed is a logical feed of its own with another id: the live
//     records and fh:complete, without deletions, and no document of the
//     archived feed links to it (RFC 5005 §1 leaves the mixture undefined).
//
// [Renderer] seals archive documents for publishing; [AppendSubscription],
// [AppendArchive] and [AppendComplete] are the documents as functions of a
// [model.View] and the log; [Handler] serves them. docs/format/atom.md shows
// them element by element.
package atompmh

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gateway/model"
)

// Renderer seals the archive documents of a set as its segments are published.
type Renderer struct{}

// Name is "atom-pmh".
func (Renderer) Name() string { return "atom-pmh" }

// Seal creates the archive document of v.Published, which becomes final now that
// seg follows it. The first segment makes nothing final.
func (Renderer) Seal(ctx context.Context, log model.Log, v model.View, seg model.Segment, out model.Sink) error {
	if v.Published.Number == 0 {
		return nil
	}
	archive := archiveOf(&v, v.Published.Number)
	b, err := AppendArchive(ctx, nil, log, &v, true)
	if err != nil {
		return fmt.Errorf("seal %s: %w", archive.Path(), err)
	}
	w, err := out.Create(archive.Path(), MediaType, seg.Until)
	if err != nil {
		return fmt.Errorf("create %s: %w", archive.Path(), err)
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write %s: %w", archive.Path(), err) // not closed, so it does not exist
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("finish %s: %w", archive.Path(), err)
	}
	return nil
}

// AppendSubscription appends the subscription document of v to b.
func AppendSubscription(ctx context.Context, b []byte, log model.Log, v *model.View) ([]byte, error) {
	last, updated := v.Shown()
	h := head{
		set: &v.Set, at: placeOf(v), id: v.Set.FeedID, updated: updated,
		self: SubscriptionPath(v.Set.Name), current: SubscriptionPath(v.Set.Name),
	}
	var after model.Position
	if n := v.Published.Number; n > 0 {
		after = v.Published.First - 1
		h.prev = archivePath(v, n-1)
	}
	return h.appendFeed(ctx, b, log, after, last)
}

// AppendArchive appends to b the archive document of v.Published: as it is
// sealed when another segment follows, or as it is served before that.
func AppendArchive(ctx context.Context, b []byte, log model.Log, v *model.View, sealed bool) ([]byte, error) {
	seg := &v.Published
	h := head{
		set: &v.Set, at: placeOf(v), id: v.Set.FeedID, updated: seg.Updated(),
		self: archivePath(v, seg.Number), current: SubscriptionPath(v.Set.Name),
		prev: archivePath(v, seg.Number-1), mark: "archive",
	}
	if sealed {
		h.next = archivePath(v, seg.Number+1)
	}
	return h.appendFeed(ctx, b, log, seg.First-1, seg.Last)
}

// AppendComplete appends to b the complete feed of the position that v shows.
// The error is [model.ErrNotFound] when more records are live there than the
// set's policy allows, or the document would be longer than any other.
func AppendComplete(ctx context.Context, b []byte, log model.Log, v *model.View) ([]byte, error) {
	at, updated := v.Shown()
	limit, most := v.Set.Policy.CompleteLimit, len(b)+model.Limits{}.WithDefaults().Bytes
	h := head{
		set: &v.Set, at: placeOf(v), id: v.Set.CompleteID, updated: updated,
		self: CompletePath(v.Set.Name), mark: "complete",
	}
	b = h.append(b)
	run := newestFirst{start: len(b)}
	for c, err := range log.States(ctx, v.Set.ID, at, 0) {
		if err != nil {
			return b, fmt.Errorf("read the records of set %s at %d: %w", v.Set.Name, at, err)
		}
		if len(run.entries) == limit {
			return b, fmt.Errorf("set %s has more than %d records: %w", v.Set.Name, limit, model.ErrNotFound)
		}
		if b = run.append(b, h.at, c); len(b) > most {
			return b, fmt.Errorf("complete feed of set %s needs more than %d bytes: %w", v.Set.Name, most, model.ErrNotFound)
		}
	}
	return append(run.arrange(b), feedEnd...), nil
}

// appendFeed appends a document: h, and the entries of the changes after < p ≤
// last, newest first. A log that yields anything else but each of them once is
// an error: what is missing from a document is lost to consumers.
func (h *head) appendFeed(ctx context.Context, b []byte, log model.Log, after, last model.Position) ([]byte, error) {
	b = h.append(b)
	run := newestFirst{start: len(b), entries: make([]span, 0, last-after)}
	next := after + 1
	for c, err := range log.Changes(ctx, h.set.ID, after, last) {
		if err != nil {
			return b, fmt.Errorf("read set %s after %d: %w", h.set.Name, next-1, err)
		}
		if c.Position != next {
			return b, fmt.Errorf("read set %s after %d: got position %d", h.set.Name, next-1, c.Position)
		}
		b = run.append(b, h.at, c)
		next++
	}
	if next != last+1 {
		return b, fmt.Errorf("read set %s after %d: the log ends before %d", h.set.Name, next-1, last)
	}
	return append(run.arrange(b), feedEnd...), nil
}

// newestFirst puts entries that were appended in another order into that of
// falling positions. Logs are read forwards, and copying the rendered bytes
// once more is cheaper than keeping changes, whose memory the log reuses.
type newestFirst struct {
	start   int // of the first entry in the document
	entries []span
}

type span struct {
	position model.Position
	from, to int
}

func (n *newestFirst) append(b []byte, at place, c *model.Change) []byte {
	from := len(b)
	b = appendEntry(b, at, c)
	n.entries = append(n.entries, span{c.Position, from, len(b)})
	return b
}

// arrange returns b, which ends with the entries, with them in order.
func (n *newestFirst) arrange(b []byte) []byte {
	end := len(b)
	slices.SortFunc(n.entries, func(x, y span) int { return cmp.Compare(y.position, x.position) })
	b = slices.Grow(b, end-n.start)
	for _, e := range n.entries {
		b = append(b, b[e.from:e.to]...)
	}
	copy(b[n.start:], b[end:])
	return b[:end]
}

func archiveOf(v *model.View, n model.SegmentNumber) Archive {
	return Archive{Set: v.Set.Name, Epoch: v.Epoch.Number, Segment: n}
}

// archivePath is the path of archive n, "" when n is 0.
func archivePath(v *model.View, n model.SegmentNumber) string {
	if n == 0 {
		return ""
	}
	return archiveOf(v, n).Path()
}
