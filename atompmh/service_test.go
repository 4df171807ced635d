package atompmh_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"testing"

	"gateway/atompmh"
	"gateway/model"
)

type xmlService struct {
	XMLName    xml.Name `xml:"http://www.w3.org/2007/app service"`
	Workspaces []struct {
		Titles      []string `xml:"http://www.w3.org/2005/Atom title"`
		Collections []struct {
			Href    string    `xml:"href,attr"`
			Titles  []string  `xml:"http://www.w3.org/2005/Atom title"`
			Accepts []xmlMark `xml:"http://www.w3.org/2007/app accept"`
			Links   []xmlLink `xml:"http://www.w3.org/2005/Atom link"`
		} `xml:"http://www.w3.org/2007/app collection"`
	} `xml:"http://www.w3.org/2007/app workspace"`
}

func TestService(t *testing.T) {
	w := full(t)
	const others = 1100 // more than two pages
	for i := range others {
		v := w.view()
		v.Set.Name, v.Set.Title = fmt.Sprintf("s%04d", i), ""
		v.Head.Records = 1_000_000
		w.others = append(w.others, v)
	}
	got := request(serve(w), "GET", atompmh.ServicePath)
	var s xmlService
	if err := xml.Unmarshal(got.Body.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	t.Run("ATOM-23 one workspace with a title", func(t *testing.T) {
		if got.Header().Get("Content-Type") != "application/atomsvc+xml" || len(s.Workspaces) != 1 || len(s.Workspaces[0].Titles) != 1 {
			t.Fatalf("%s, %d workspaces", got.Header().Get("Content-Type"), len(s.Workspaces))
		}
	})
	t.Run("ATOM-23 a collection per set with href, title and one empty accept", func(t *testing.T) {
		collections := s.Workspaces[0].Collections
		if len(collections) != others+1 {
			t.Fatalf("%d collections", len(collections))
		}
		for i, c := range collections {
			name, title := fmt.Sprintf("s%04d", i-1), fmt.Sprintf("s%04d", i-1)
			if i == 0 {
				name, title = "rivers", "Rivers & streams"
			}
			if c.Href != base+"/atom/"+name || len(c.Titles) != 1 || c.Titles[0] != title || len(c.Accepts) != 1 || c.Accepts[0].Inner != "" {
				t.Errorf("%+v", c)
			}
			if linked := linkOf(c.Links, "related") == base+"/atom/rivers/complete"; linked != (i == 0) {
				t.Errorf("%s: links %+v", name, c.Links)
			}
		}
	})
}

func TestServiceWithoutSets(t *testing.T) {
	b, changed, err := atompmh.AppendService(context.Background(), nil, views{})
	if err != nil || changed != 0 || xml.Unmarshal(b, &xmlService{}) != nil {
		t.Errorf("%v, changed %v\n%s", err, changed, b)
	}
	broken := errors.New("broken")
	if _, _, err := atompmh.AppendService(context.Background(), nil, views{broken}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// views is a store without sets, or a broken one.
type views struct{ err error }

func (v views) Views(context.Context, string, int) ([]model.View, error) { return nil, v.err }
