package resourcesync

import (
	"context"

	"gateway/model"
	"gateway/sitemap"
)

// dumped is a segment with its package.
type dumped struct {
	segment model.Segment
	row     model.Package
}

// changeDumpPackages are the newest published segments, most of them at most,
// oldest first. What comes before a segment without a package, which was
// published when the set offered no Change Dump, is left out: a Change Dump has
// no gaps.
func changeDumpPackages(ctx context.Context, src Source, v *model.View, most int) ([]dumped, error) {
	closed, err := closedLists(ctx, src, v, most)
	if err != nil {
		return nil, err
	}
	var found []dumped
	for len(closed) > 0 {
		n := min(segmentPage, len(closed))
		page, err := src.SegmentPackages(ctx, v.Set.ID, v.Epoch.Number, closed[0].Number-1, n)
		if err != nil {
			return nil, err
		}
		for _, seg := range closed[:n] {
			if len(page) == 0 || page[0].Segment != seg.Number {
				found = found[:0]
				continue
			}
			found = append(found, dumped{seg, page[0]})
			page = page[1:]
		}
		closed = closed[n:]
	}
	return found, nil
}

// appendChangeDump appends the Change Dump (ResourceSync 1.1 §13.1): a package
// for each closed Change List. When these are more than a document has entries,
// it is an index over parts, each of a block of that many segments.
func appendChangeDump(b []byte, v *model.View, packages []dumped, entries int) []byte {
	if len(packages) <= entries {
		return appendChangeDumpPart(b, v, packages, entries, 0)
	}
	b = sitemap.Index.AppendRoot(b, &sitemap.Root{Links: []sitemap.Link{up(v)}, MD: sitemap.MD{Capability: changeDump, From: dumpFrom(v, packages)}})
	for len(packages) > 0 {
		number := blockOf(packages[0].segment.Number, entries)
		block := blockIn(packages, number, entries)
		part := ChangeDumpPart{Set: v.Set.Name, Epoch: v.Epoch.Number, Number: number}
		e := sitemap.Entry{Loc: urlOf(v, part.Path()), MD: sitemap.MD{From: dumpFrom(v, block), Until: dumpUntil(block, number, entries)}}
		b = sitemap.Index.AppendEntry(b, &e)
		packages = packages[len(block):]
	}
	return sitemap.Index.AppendEnd(b)
}

// appendChangeDumpPart appends a Change Dump of the given packages: part number,
// or 0 for one that is whole.
func appendChangeDumpPart(b []byte, v *model.View, packages []dumped, entries int, number model.SegmentNumber) []byte {
	root := sitemap.Root{Links: []sitemap.Link{up(v)}, MD: sitemap.MD{Capability: changeDump, From: dumpFrom(v, packages)}}
	if number > 0 {
		root.Links = append(root.Links, sitemap.Link{Rel: "index", Href: urlOf(v, ChangeDumpPath(v.Set.Name))})
		root.MD.Until = dumpUntil(packages, number, entries)
	}
	b = sitemap.List.AppendRoot(b, &root)
	for i := range packages {
		seg := &packages[i].segment
		b = appendPackage(b, v, &packages[i].row, sitemap.MD{
			From: fromIn(&v.Epoch, seg.From).Append(nil), Until: seg.Until.Append(nil),
		})
	}
	return sitemap.List.AppendEnd(b)
}

// dumpFrom is where the first of packages begins, or the next one will.
func dumpFrom(v *model.View, packages []dumped) []byte {
	_, from := openSince(v)
	if len(packages) > 0 {
		from = fromIn(&v.Epoch, packages[0].segment.From)
	}
	return from.Append(nil)
}

// dumpUntil is where a block ends, once its last segment is published.
func dumpUntil(block []dumped, number model.SegmentNumber, entries int) []byte {
	last := &block[len(block)-1].segment
	if last.Number < number*model.SegmentNumber(entries) {
		return nil
	}
	return last.Until.Append(nil)
}

// blockOf is the number of the block that a segment is in.
func blockOf(n model.SegmentNumber, entries int) model.SegmentNumber {
	return (n-1)/model.SegmentNumber(entries) + 1
}

// blockIn is those of packages that are in a block.
func blockIn(packages []dumped, number model.SegmentNumber, entries int) []dumped {
	for len(packages) > 0 && blockOf(packages[0].segment.Number, entries) < number {
		packages = packages[1:]
	}
	n := 0
	for n < len(packages) && blockOf(packages[n].segment.Number, entries) == number {
		n++
	}
	return packages[:n]
}
