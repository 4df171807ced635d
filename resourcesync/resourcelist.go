package resourcesync

import (
	"gateway/model"
	"gateway/sitemap"
)

// appendPartRoot appends the beginning of a Resource List, or of a part of one.
// Parts link to the index of their own generation (ResourceSync 1.1 §10.2).
func appendPartRoot(b []byte, v *model.View, s *model.Snapshot, single bool) []byte {
	root := sitemap.Root{Links: []sitemap.Link{up(v)}, MD: sitemap.MD{Capability: resourceList, At: s.At.Append(nil)}}
	if !single {
		root.Links = append(root.Links, sitemap.Link{Rel: "index", Href: urlOf(v, generation(v, s).IndexPath())})
	}
	return sitemap.List.AppendRoot(b, &root)
}

// appendEmptyList appends the Resource List of a set's snapshot 0.
func appendEmptyList(b []byte, v *model.View) []byte {
	return sitemap.List.AppendEnd(appendPartRoot(b, v, &v.Snapshot, true))
}

// appendPartIndex appends the index over the parts of s.
func appendPartIndex(b []byte, v *model.View, s *model.Snapshot) []byte {
	at := s.At.Append(nil)
	b = sitemap.Index.AppendRoot(b, &sitemap.Root{
		Links: []sitemap.Link{up(v)},
		MD:    sitemap.MD{Capability: resourceList, At: at},
	})
	g := generation(v, s)
	for number := 1; number <= s.Parts; number++ {
		b = sitemap.Index.AppendEntry(b, &sitemap.Entry{Loc: urlOf(v, g.PartPath(number)), MD: sitemap.MD{At: at}})
	}
	return sitemap.Index.AppendEnd(b)
}

func generation(v *model.View, s *model.Snapshot) Generation {
	return Generation{Set: v.Set.Name, Epoch: v.Epoch.Number, Snapshot: s.Number}
}

// newestListPath is where the newest Resource List is stored: its only part, or
// its index.
func newestListPath(v *model.View) string {
	g := generation(v, &v.Snapshot)
	if v.Snapshot.Parts == 1 {
		return g.PartPath(1)
	}
	return g.IndexPath()
}
