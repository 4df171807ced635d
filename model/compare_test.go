package model_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gateway/model"
)

// genContent draws one of a few contents, so that equal ones are common.
func genContent(t *rapid.T) model.Content {
	n := rapid.IntRange(0, 3).Draw(t, "content")
	return model.Content{Length: int64(n), SHA256: [32]byte{byte(n), 1}, MD5: [16]byte{byte(n), 2}, Stored: int64(n), Deflated: n == 3}
}

func genResource(role model.Role, name string) *rapid.Generator[model.Resource] {
	return rapid.Custom(func(t *rapid.T) model.Resource {
		r := model.Resource{
			Role: role, Name: name,
			Type:    rapid.SampledFrom([]string{"text/plain", "application/xml"}).Draw(t, "type"),
			Profile: rapid.SampledFrom([]string{"", "http://example.org/p"}).Draw(t, "profile"),
			Content: genContent(t),
		}
		if rapid.IntRange(0, 4).Draw(t, "external") == 0 {
			r.Href = rapid.SampledFrom([]string{"http://example.org/a", "http://example.org/b"}).Draw(t, "href")
			r.Content = model.Content{Length: rapid.Int64Range(-1, 1).Draw(t, "length")}
		}
		return r
	})
}

// genRecord draws a state, not always a valid one: Compare does not mind.
var genRecord = rapid.Custom(func(t *rapid.T) model.Record {
	r := model.Record{Identifier: "urn:example:1"}
	if rapid.IntRange(0, 5).Draw(t, "deleted") == 0 {
		r.Deleted = true
		return r
	}
	r.Title = rapid.SampledFrom([]string{"One", "Two"}).Draw(t, "title")
	r.Modified = rapid.SampledFrom([]string{"", "2020-01-31"}).Draw(t, "modified")
	if rapid.Bool().Draw(t, "collected") {
		r.Collections = []string{"theses"}
	}
	names := rapid.Permutation([]string{"a", "b", "c", "d"}).Draw(t, "names")
	names = names[:rapid.IntRange(1, 4).Draw(t, "resources")]
	split := rapid.IntRange(1, len(names)).Draw(t, "representations")
	for i, name := range names {
		role := model.Representation
		if i >= split {
			role = model.File
		}
		r.Resources = append(r.Resources, genResource(role, name).Draw(t, "resource"))
	}
	return r
})

// visible is what harvesters can tell about a record, without the source's date.
func visible(r model.State) model.State {
	r.Modified = ""
	r.Resources = slices.Clone(r.Resources)
	for i := range r.Resources {
		x := &r.Resources[i]
		x.Key, x.Kind, x.Position, x.Time = 0, 0, 0, 0
	}
	if len(r.Resources) == 0 {
		r.Resources = nil
	}
	return r
}

// TestCompare drives one record through random states and follows its resources
// as a harvester does: by name and by what each change says happened.
func TestCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type place struct {
			name     string
			external bool
		}
		var current *model.Change
		holds := map[place]model.Resource{}
		at := model.Position(0)
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			next := genRecord.Draw(t, fmt.Sprintf("state %d", step))
			c, ok := model.Compare(current, &next, 7, at+1, model.Time(1000+step))
			same := current != nil && current.Live() && !next.Deleted && cmp.Equal(visible(current.State), visible(next.State)) ||
				next.Deleted && (current == nil || !current.Live())
			if ok == same {
				t.Fatalf("step %d: a change: %v, equal states: %v", step, ok, same)
			}
			if !ok {
				continue
			}
			at++
			checkChange(t, current, &next, &c, at)
			for _, d := range c.Dropped {
				p := place{d.Name, d.External}
				if _, ok := holds[p]; !ok {
					t.Fatalf("%v is dropped but was not there", p)
				}
				delete(holds, p)
			}
			for _, r := range c.Resources {
				p := place{r.Name, r.External()}
				was, there := holds[p]
				switch r.Kind {
				case model.Created:
					if there {
						t.Fatalf("%v is created but was there", p)
					}
				case model.Updated:
					if !there || was.Position == r.Position {
						t.Fatalf("%v is updated but was not there", p)
					}
				case model.Same:
					if !there || !cmp.Equal(stripKind(was), stripKind(r)) {
						t.Fatalf("%v is the same, but it was %+v and is %+v", p, was, r)
					}
				}
				if !r.External() && r.Key == 0 { // new bytes get a key, as a commit does
					r.Key = model.ContentKey(at)*10 + 1
					c.Resource(r.Name).Key = r.Key
				}
				holds[p] = r
			}
			if len(holds) != len(c.Resources) {
				t.Fatalf("a follower holds %d resources, the record has %d", len(holds), len(c.Resources))
			}
			current = &c
		}
	})
}

func stripKind(r model.Resource) model.Resource {
	r.Kind = 0
	return r
}

func checkChange(t *rapid.T, before *model.Change, next *model.Record, c *model.Change, at model.Position) {
	live := before != nil && before.Live()
	want := model.Created
	switch {
	case next.Deleted:
		want = model.Deleted
	case live:
		want = model.Updated
	}
	if c.Kind != want || c.Position != at || c.Record != 7 {
		t.Fatalf("got %v at %d of record %d, want %v at %d of record 7", c.Kind, c.Position, c.Record, want, at)
	}
	if before != nil && c.Previous != before.Position || before == nil && c.Previous != 0 {
		t.Fatalf("previous is %d", c.Previous)
	}
	if next.Deleted {
		if c.Title != before.Title || len(c.Resources) != 0 {
			t.Fatalf("a deletion keeps the title and nothing else, got %+v", c.State)
		}
		return
	}
	if diff := cmp.Diff(visible(next.State), visible(c.State)); diff != "" {
		t.Fatalf("state after the change (-want +got):\n%s", diff)
	}
}

func TestCompareKeepsKeysOfEqualBytes(t *testing.T) {
	body := model.Content{Length: 3, Stored: 3, SHA256: [32]byte{1}}
	before := model.Change{Position: 1, Record: 1, Kind: model.Created, State: model.State{Resources: []model.Resource{
		{Name: "a", Type: "text/plain", Content: body, Key: 42, Kind: model.Created, Position: 1, Time: 9},
	}}}
	next := model.Record{State: model.State{Resources: []model.Resource{{Name: "a", Type: "text/html", Content: body}}}}
	c, ok := model.Compare(&before, &next, 1, 2, 10)
	if !ok || c.Resources[0].Key != 42 || c.Resources[0].Kind != model.Updated {
		t.Errorf("another type over the same bytes: %v %+v", ok, c.Resources)
	}
}

func TestBodyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := genRecord.Draw(t, "state")
		c := model.Change{State: r.State}
		c.Summary = rapid.String().Draw(t, "summary")
		c.Links = []model.Link{{Rel: "via", Href: "http://example.org/", Title: "…"}}
		c.Dropped = []model.Dropped{{Name: "x", Role: model.File, External: true}, {Name: "y"}}
		for i := range c.Resources {
			x := &c.Resources[i]
			x.Kind = model.Updated
			x.Position = model.Position(rapid.Int64Range(0, 1<<40).Draw(t, "position"))
			x.Time = model.Time(rapid.Int64Range(0, 1<<60).Draw(t, "time"))
			if !x.External() {
				x.Key, x.Content.CRC32 = 5, rapid.Uint32().Draw(t, "crc")
			}
		}
		var got model.Change
		if err := got.ParseBody(string(c.AppendBody(nil))); err != nil {
			t.Fatal(err)
		}
		if len(got.Collections) == 0 {
			got.Collections = c.Collections
		}
		if len(got.Resources) == 0 {
			got.Resources = c.Resources
		}
		if diff := cmp.Diff(c, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func FuzzParseBody(f *testing.F) {
	c := model.Change{State: model.State{Title: "t", Collections: []string{"c"}, Resources: []model.Resource{{Name: "n", Type: "text/plain"}}}}
	f.Add(string(c.AppendBody(nil)))
	f.Add("")
	f.Add("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Fuzz(func(t *testing.T, body string) {
		var c, again model.Change
		if c.ParseBody(body) != nil {
			return
		}
		if err := again.ParseBody(string(c.AppendBody(nil))); err != nil {
			t.Fatalf("what was read does not read back: %v", err)
		}
	})
}

func BenchmarkParseBody(b *testing.B) {
	c := model.Change{State: model.State{Title: "A title of usual length, as they are", Resources: []model.Resource{
		{Name: "oai_dc.xml", Type: "application/xml", Profile: "http://www.openarchives.org/OAI/2.0/oai_dc/", Content: model.Content{Length: 900, Stored: 400, SHA256: [32]byte{1}, MD5: [16]byte{1}}, Key: 12345, Position: 77777, Time: 1_767_225_600_000_000},
		{Name: "record.json", Type: "application/json", Content: model.Content{Length: 3000, Stored: 800, SHA256: [32]byte{1}, MD5: [16]byte{1}}, Key: 12346, Position: 77777, Time: 1_767_225_600_000_000},
	}}}
	body := string(c.AppendBody(nil))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var got model.Change
	for b.Loop() {
		if err := got.ParseBody(body); err != nil {
			b.Fatal(err)
		}
	}
}
