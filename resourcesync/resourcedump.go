package resourcesync

import (
	"context"
	"fmt"

	"gateway/dump"
	"gateway/model"
	"gateway/sitemap"
)

// resourceDumpPackages are the packages of the newest snapshot, in order. There
// are none in snapshot 0, and [model.ErrNotReady] when the snapshot was taken
// before the set offered dumps: they do not hold what its Resource List lists.
func resourceDumpPackages(ctx context.Context, src Source, v *model.View) ([]model.Package, error) {
	if v.Snapshot.Parts == 0 {
		return nil, nil
	}
	packages, err := src.SnapshotPackages(ctx, v.Set.ID, v.Epoch.Number, v.Snapshot.Number)
	if err != nil {
		return nil, fmt.Errorf("packages of snapshot %d of set %s: %w", v.Snapshot.Number, v.Set.Name, err)
	}
	var members int64
	for i := range packages {
		members += int64(packages[i].Members)
	}
	if members != v.Snapshot.Resources {
		return nil, fmt.Errorf("packages of snapshot %d of set %s hold %d of %d resources: %w",
			v.Snapshot.Number, v.Set.Name, members, v.Snapshot.Resources, model.ErrNotReady)
	}
	return packages, nil
}

// appendResourceDump appends the Resource Dump of the newest snapshot
// (ResourceSync 1.1 §11.1), or an index over its parts when it has more than
// most packages.
func appendResourceDump(b []byte, v *model.View, packages []model.Package, most int) []byte {
	if len(packages) <= most {
		return appendResourceDumpPart(b, v, packages, false)
	}
	at := v.Snapshot.At.Append(nil)
	b = sitemap.Index.AppendRoot(b, &sitemap.Root{Links: []sitemap.Link{up(v)}, MD: sitemap.MD{Capability: resourceDump, At: at}})
	g := generation(v, &v.Snapshot)
	for number := 1; (number-1)*most < len(packages); number++ {
		b = sitemap.Index.AppendEntry(b, &sitemap.Entry{Loc: urlOf(v, g.DumpPartPath(number)), MD: sitemap.MD{At: at}})
	}
	return sitemap.Index.AppendEnd(b)
}

// appendResourceDumpPart appends a Resource Dump of the given packages.
func appendResourceDumpPart(b []byte, v *model.View, packages []model.Package, indexed bool) []byte {
	at := v.Snapshot.At.Append(nil)
	root := sitemap.Root{Links: []sitemap.Link{up(v)}, MD: sitemap.MD{Capability: resourceDump, At: at}}
	if indexed {
		root.Links = append(root.Links, sitemap.Link{Rel: "index", Href: urlOf(v, ResourceDumpPath(v.Set.Name))})
	}
	b = sitemap.List.AppendRoot(b, &root)
	for i := range packages {
		b = appendPackage(b, v, &packages[i], sitemap.MD{At: at})
	}
	return sitemap.List.AppendEnd(b)
}

// appendPackage appends the entry of a package, of whose rs:md the times are
// given. The hash of a package is not known, because it was never made.
func appendPackage(b []byte, v *model.View, p *model.Package, md sitemap.MD) []byte {
	md.Type, md.Sums = dump.MediaType, sitemap.Sums{Length: &p.Size}
	return sitemap.List.AppendEntry(b, &sitemap.Entry{
		Loc: urlOf(v, p.Path), MD: md,
		Links: []sitemap.Link{{Rel: "contents", Href: urlOf(v, p.Manifest), Type: sitemap.MediaType}},
	})
}

// partOf is the items of part number (1, 2, …) when each part has most of them.
func partOf[T any](items []T, number, most int) []T {
	first := (number - 1) * most
	if number > len(items) || first >= len(items) {
		return nil
	}
	return items[first:min(first+most, len(items))]
}
