package resourcesync

import (
	"html"

	"gateway/dump"
	"gateway/model"
	"gateway/sitemap"
)

// appendCapabilityList appends the Capability List (ResourceSync 1.1 §9): what
// the set's policy offers.
func appendCapabilityList(b []byte, v *model.View) []byte {
	root := sitemap.Root{
		Links: []sitemap.Link{
			{Rel: "describedby", Href: []byte(DescribedBy(v.Epoch.BaseURL, &v.Set))},
			{Rel: "up", Href: urlOf(v, SourceDescriptionPath)},
		},
		MD: sitemap.MD{Capability: capabilityList},
	}
	if v.Set.Policy.Offers(resourceDump) {
		root.Links = append(root.Links, sitemap.Link{Rel: SelectionRelation, Href: urlOf(v, SelectionPath(v.Set.Name)), Type: dump.MediaType})
	}
	b = sitemap.List.AppendRoot(b, &root)
	for _, offer := range [...]struct{ token, path string }{
		{resourceList, ResourceListPath(v.Set.Name)},
		{resourceDump, ResourceDumpPath(v.Set.Name)},
		{changeList, ChangeListIndexPath(v.Set.Name)},
		{changeDump, ChangeDumpPath(v.Set.Name)},
	} {
		if v.Set.Policy.Offers(offer.token) {
			b = sitemap.List.AppendEntry(b, &sitemap.Entry{
				Loc: urlOf(v, offer.path),
				MD:  sitemap.MD{Capability: offer.token},
			})
		}
	}
	return sitemap.List.AppendEnd(b)
}

// DescribedBy is the URI of a description of a set: the one it was given, or its
// page here.
func DescribedBy(base string, s *model.Set) string {
	if s.DescribedBy != "" {
		return s.DescribedBy
	}
	return base + "/sets/" + s.Name
}

// LinkHeader is the value of the Link header that leads from a resource of a set
// to the Capability List that covers it (§6.3.3, RFC 8288).
func LinkHeader(base, set string) string {
	return "<" + base + CapabilityListPath(set) + `>; rel="resourcesync"`
}

// LinkElement is the line that does the same in the head of an HTML page about a
// resource of the set.
func LinkElement(base, set string) string {
	return `<link rel="resourcesync" href="` + html.EscapeString(base+CapabilityListPath(set)) + `"/>`
}
