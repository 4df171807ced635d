package resourcesync

import (
	"context"
	"fmt"

	"gateway/model"
	"gateway/sitemap"
)

// Capability tokens (ResourceSync 1.1 §7).
const (
	capabilityList = "capabilitylist"
	resourceList   = model.CapabilityResourceList
	resourceDump   = model.CapabilityResourceDump
	changeList     = model.CapabilityChangeList
	changeDump     = model.CapabilityChangeDump
)

// fromIn is the from of a Change List that begins at a boundary of the log: an
// epoch that began in mid-log covers only what follows its own time.
func fromIn(e *model.Epoch, boundary model.Time) model.Time { return max(boundary, e.From) }

// openSince is where the open Change List begins.
func openSince(v *model.View) (after model.Position, from model.Time) {
	return max(v.Published.Last, v.Epoch.First), fromIn(&v.Epoch, v.OpenFrom())
}

// appendChangeListRoot appends the beginning of a Change List. One without until
// is open (§12.1).
func appendChangeListRoot(b []byte, v *model.View, from, until model.Time) []byte {
	root := sitemap.Root{
		Links: []sitemap.Link{up(v), {Rel: "index", Href: urlOf(v, ChangeListIndexPath(v.Set.Name))}},
		MD:    sitemap.MD{Capability: changeList, From: from.Append(nil)},
	}
	if until != 0 {
		root.MD.Until = until.Append(nil)
	}
	return sitemap.List.AppendRoot(b, &root)
}

// appendOpenList appends the open Change List: what follows the published
// segment, as far as v shows it.
func appendOpenList(ctx context.Context, b []byte, log model.Log, v *model.View) ([]byte, error) {
	after, from := openSince(v)
	last, _ := v.Shown()
	b = appendChangeListRoot(b, v, from, 0)
	e := entriesOf(v)
	if after < last {
		for c, err := range log.Changes(ctx, v.Set.ID, after, last) {
			if err != nil {
				return b, fmt.Errorf("render open change list %d of set %s: %w", v.Open(), v.Set.Name, err)
			}
			for _, entry := range e.changes(c) {
				b = sitemap.List.AppendEntry(b, entry)
			}
		}
	}
	return sitemap.List.AppendEnd(b), nil
}

// appendChangeListIndex appends the Change List Index (§12.2): the newest closed
// lists, most of them at most, then the open one. Its from is that of the oldest
// it names.
func appendChangeListIndex(ctx context.Context, b []byte, log model.Log, v *model.View, most int) ([]byte, error) {
	closed, err := closedLists(ctx, log, v, most)
	if err != nil {
		return b, fmt.Errorf("render change list index of set %s: %w", v.Set.Name, err)
	}
	_, open := openSince(v)
	from := open
	if len(closed) > 0 {
		from = fromIn(&v.Epoch, closed[0].From)
	}
	b = sitemap.Index.AppendRoot(b, &sitemap.Root{
		Links: []sitemap.Link{up(v)},
		MD:    sitemap.MD{Capability: changeList, From: from.Append(nil)},
	})
	for i := range closed {
		b = appendNamed(b, v, closed[i].Number, fromIn(&v.Epoch, closed[i].From), closed[i].Until)
	}
	b = appendNamed(b, v, v.Open(), open, 0)
	return sitemap.Index.AppendEnd(b), nil
}

// segmentPage is how many segments are read at a time.
const segmentPage = 1000

// closedLists are the newest segments whose Change Lists are published in the
// epoch, most of them at most, oldest first.
func closedLists(ctx context.Context, log model.Log, v *model.View, most int) ([]model.Segment, error) {
	var closed []model.Segment
	after := max(0, v.Published.Number-model.SegmentNumber(most))
	for after < v.Published.Number {
		page, err := log.Segments(ctx, v.Set.ID, after, min(segmentPage, int(v.Published.Number-after)))
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return nil, fmt.Errorf("segment %d: %w", after+1, model.ErrNotFound)
		}
		after = page[len(page)-1].Number
		for _, seg := range page {
			if seg.Last > v.Epoch.First {
				closed = append(closed, seg)
			}
		}
	}
	return closed, nil
}

// appendNamed appends an index's entry for the Change List of a segment.
func appendNamed(b []byte, v *model.View, number model.SegmentNumber, from, until model.Time) []byte {
	list := ChangeList{Set: v.Set.Name, Epoch: v.Epoch.Number, Segment: number}
	e := sitemap.Entry{Loc: urlOf(v, list.Path()), MD: sitemap.MD{From: from.Append(nil)}}
	if until != 0 {
		e.MD.Until = until.Append(nil)
	}
	return sitemap.Index.AppendEntry(b, &e)
}

// up is the link to the Capability List, which every document of the set but
// that list has (§9).
func up(v *model.View) sitemap.Link {
	return sitemap.Link{Rel: "up", Href: urlOf(v, CapabilityListPath(v.Set.Name))}
}

func urlOf(v *model.View, path string) []byte {
	return append([]byte(v.Epoch.BaseURL), path...)
}
