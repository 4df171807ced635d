package atompmh_test

import (
	"encoding/xml"
	"strings"
	"time"

	"pgregory.net/rapid"

	"gateway/model"
)

// The types below read the documents with encoding/xml, so that nothing of the
// writer is taken for granted.

const (
	atomNS = "http://www.w3.org/2005/Atom"
	fhNS   = "http://purl.org/syndication/history/1.0"
)

type xmlFeed struct {
	XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	IDs       []string    `xml:"http://www.w3.org/2005/Atom id"`
	Titles    []string    `xml:"http://www.w3.org/2005/Atom title"`
	Subtitles []string    `xml:"http://www.w3.org/2005/Atom subtitle"`
	Updated   []string    `xml:"http://www.w3.org/2005/Atom updated"`
	Authors   []xmlAuthor `xml:"http://www.w3.org/2005/Atom author"`
	Generator []string    `xml:"http://www.w3.org/2005/Atom generator"`
	Links     []xmlLink   `xml:"http://www.w3.org/2005/Atom link"`
	Archive   []xmlMark   `xml:"http://purl.org/syndication/history/1.0 archive"`
	Complete  []xmlMark   `xml:"http://purl.org/syndication/history/1.0 complete"`
	Entries   []xmlEntry  `xml:"http://www.w3.org/2005/Atom entry"`
}

type xmlAuthor struct {
	Name  []string `xml:"http://www.w3.org/2005/Atom name"`
	Email []string `xml:"http://www.w3.org/2005/Atom email"`
	URI   []string `xml:"http://www.w3.org/2005/Atom uri"`
}

type xmlMark struct {
	Inner string `xml:",innerxml"`
}

type xmlEntry struct {
	IDs        []string      `xml:"http://www.w3.org/2005/Atom id"`
	Titles     []string      `xml:"http://www.w3.org/2005/Atom title"`
	Updated    []string      `xml:"http://www.w3.org/2005/Atom updated"`
	Summaries  []string      `xml:"http://www.w3.org/2005/Atom summary"`
	Categories []xmlCategory `xml:"http://www.w3.org/2005/Atom category"`
	Contents   []xmlContent  `xml:"http://www.w3.org/2005/Atom content"`
	Links      []xmlLink     `xml:"http://www.w3.org/2005/Atom link"`
}

type xmlCategory struct {
	Term string `xml:"term,attr"`
}

type xmlContent struct {
	Attributes []xml.Attr `xml:",any,attr"`
	Inner      string     `xml:",innerxml"`
}

type xmlLink struct {
	Rel      string  `xml:"rel,attr"`
	Href     string  `xml:"href,attr"`
	Type     *string `xml:"type,attr"`
	Hreflang string  `xml:"hreflang,attr"`
	Length   string  `xml:"length,attr"`
	Title    string  `xml:"title,attr"`
}

func parseFeed(t rapid.TB, b []byte) *xmlFeed {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(b)))
	var f xmlFeed
	if err := d.Decode(&f); err != nil {
		t.Fatalf("ATOM-01 %v in\n%s", err, b)
	}
	return &f
}

func (f *xmlFeed) link(rel string) string { return linkOf(f.Links, rel) }

// linkOf is the only link with the relation, "" when there is none, and
// something that no link is when there are more.
func linkOf(links []xmlLink, rel string) string {
	href, n := "", 0
	for _, l := range links {
		if l.Rel == rel {
			href = l.Href
			n++
		}
	}
	if n > 1 {
		return "(several)"
	}
	return href
}

func (f *xmlFeed) updated() model.Time { return parseTime(f.Updated[0]) }

func (e *xmlEntry) id() string          { return e.IDs[0] }
func (e *xmlEntry) updated() model.Time { return parseTime(e.Updated[0]) }

// deleted tells a deletion entry by the rule of Atom-PMH, "Detecting entry
// type".
func (e *xmlEntry) deleted() bool {
	return linkOf(e.Links, "alternate") == "" && len(e.Contents) == 1 && e.Contents[0].Inner == "" && len(e.Contents[0].Attributes) == 0
}

// parseTime is 0 for what is no time in the only form we print.
func parseTime(s string) model.Time {
	t, err := time.Parse("2006-01-02T15:04:05.000000Z", s)
	if err != nil {
		return 0
	}
	return model.TimeOf(t)
}
