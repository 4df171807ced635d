package atompmh_test

import (
	"maps"
	"slices"
	"testing"

	"gateway/model"
	"gateway/model/modeltest"
)

const rdc = `<entry xmlns="http://www.w3.org/2005/Atom"/>`

// amber is a record that has everything a record can have.
func amber() model.Record {
	dc := modeltest.Text(model.Representation, "oai_dc.xml", "application/xml", "<dc/>")
	dc.Profile = "http://www.openarchives.org/OAI/2.0/oai_dc/"
	english := modeltest.Text(model.Representation, "Amber River.json", "application/json", "{}")
	english.Hreflang = "en"
	german := modeltest.Text(model.Representation, "Bernsteinfluß.json", "application/json", `{"de":1}`)
	german.Hreflang = "de-AT"
	elsewhere := model.Resource{Name: "mods.xml", Type: "application/mods+xml", Href: "https://elsewhere.example/mods?id=1&v=2", Content: model.Content{Length: 77}}
	scan := modeltest.Text(model.File, "scan 1.pdf", "application/pdf", "%PDF")
	data := model.Resource{Role: model.File, Name: "data.zip", Type: "application/zip", Href: "https://elsewhere.example/data.zip", Content: model.Content{Length: 99}}
	return model.Record{Identifier: "urn:river:amber?a=1&b='2'", State: model.State{
		Title: `Amber River, "the <slow> one" & its stones`, Summary: "Two lines,\nthe second & last.",
		Collections: []string{"rivers", "R&D"}, Modified: "2001-01-01T00:00:00Z",
		Links: []model.Link{
			{Rel: "describedby", Href: "https://landing.example/amber", Type: "text/html", Hreflang: "en", Title: "Landing page"},
			{Rel: "alternate", Href: "https://landing.example/other", Type: "application/json"},
			{Rel: "http://www.iana.org/assignments/relation/Alternate", Href: "https://landing.example/third"},
			{Rel: "enclosure", Href: "https://landing.example/poster.png", Type: "image/png"},
			{Rel: "via", Href: "https://origin.example/amber"},
			{Rel: "predecessor-version", Href: "https://origin.example/amber/1"},
			{Rel: "self", Href: "https://origin.example/self"},
			{Rel: "edit", Href: "https://origin.example/edit"},
			{Rel: "Prev-Archive", Href: "https://origin.example/trap"},
			{Rel: "next", Href: "https://origin.example/trap"},
		},
		Resources: []model.Resource{
			dc, english, german, modeltest.Text(model.Representation, "rdc.atom", "application/atom+xml", rdc), elsewhere, scan, data,
		},
	}}
}

// small is a record without a title.
func small(identifier, content string) model.Record {
	return model.Record{Identifier: identifier, State: model.State{
		Resources: []model.Resource{modeltest.Text(model.Representation, "dc.xml", "application/xml", content)},
	}}
}

// full is a world with every kind of entry: two published segments of three, and
// one change more.
func full(t *testing.T) *world {
	w := newWorld(t, 3)
	w.Set.Title, w.Set.Description, w.Set.DescribedBy = "Rivers & streams", "Everything that flows", "https://about.example/?set=rivers&v=1"
	w.Set.Author = model.Author{Name: "River Survey", Email: "rivers@survey.example", URI: "https://survey.example/"}
	revised := amber()
	revised.Title += ", revised"
	revised.Resources = slices.Delete(revised.Resources, 1, 2)
	w.Commit(amber(), small("urn:river:birch", "1"), revised,
		model.Record{Identifier: "urn:river:birch", Deleted: true}, small("urn:river:cedar", "1"), small("urn:river:birch", "2"),
		model.Record{Identifier: "urn:river:cedar", Deleted: true})
	return w.now()
}

// feeds are all Atom documents of w, by path.
func (w *world) feeds() map[string]*xmlFeed {
	feeds := map[string]*xmlFeed{}
	for _, path := range w.paths() {
		feeds[path] = w.feed(path)
	}
	return feeds
}

func (w *world) paths() []string {
	return []string{"/atom/rivers", "/atom/rivers/complete", "/atom/rivers/1/archive/1", "/atom/rivers/1/archive/2"}
}

// entries are those of all documents of w.
func (w *world) entries() (all []*xmlEntry) {
	feeds := w.feeds()
	for _, path := range slices.Sorted(maps.Keys(feeds)) {
		for i := range feeds[path].Entries {
			all = append(all, &feeds[path].Entries[i])
		}
	}
	return all
}

func TestFullWorld(t *testing.T) {
	w := full(t)
	w.everywhere(w.check)
}
