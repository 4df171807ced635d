package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"gateway/internal/fold"
	"gateway/resourcesync"
)

// TestSampleFollowed follows every link that the sample set's documents give,
// as a harvester that takes them at their word.
func TestSampleFollowed(t *testing.T) {
	const base = "http://sync.example.org/below"
	st, err := openTestStore(t.Context(), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.settleBaseURL(t.Context(), base, "", false); err != nil {
		t.Fatal(err)
	}
	if err := loadSample(&call{ctx: t.Context(), log: slog.New(slog.DiscardHandler)}, st); err != nil {
		t.Fatal(err)
	}
	client := clientOf(handlerOf(st))
	w := fold.NewWitness(client)
	lists, err := w.CapabilityLists(base)
	if err != nil {
		t.Fatal(err)
	}
	capabilityList := lists["river-survey"]
	resources, at, err := w.ResourceList(capabilityList)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := w.ChangeList(capabilityList)
	if err != nil {
		t.Fatal(err)
	}
	if err := fold.Apply(resources, changes, at); err != nil {
		t.Fatal(err)
	}
	records, err := w.Atom(base + "/atom/river-survey")
	if err != nil {
		t.Fatal(err)
	}
	if len(resources) < 20 || len(records) < 10 {
		t.Fatalf("%d resources, %d records", len(resources), len(records))
	}

	t.Run("RS-DOC-13 length, type and hash are those of a GET", func(t *testing.T) {
		for uri, r := range resources {
			res, body := getBody(t, client, uri)
			base, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
			got := fold.Resource{Type: base, Length: res.ContentLength, SHA256: fmt.Sprintf("%x", sha256.Sum256(body))}
			if got != r {
				t.Errorf("%s is %+v, listed as %+v", uri, got, r)
			}
		}
	})
	t.Run("PMH-ACT-06 PMH-ACT-07 every alternate yields a representation of its type", func(t *testing.T) {
		for id, r := range records {
			for uri, mediaType := range r.Alternates {
				if res, _ := getBody(t, client, uri); res.Header.Get("Content-Type") != mediaType {
					t.Errorf("%s: %s is %q, linked as %q", id, uri, res.Header.Get("Content-Type"), mediaType)
				}
			}
		}
	})
	t.Run("RS-DISC-03 every resource leads to the Capability List that covers it", func(t *testing.T) {
		for uri := range resources {
			res, err := client.Head(uri)
			if err != nil {
				t.Fatal(err)
			}
			if want := "<" + capabilityList + `>; rel="resourcesync"`; !strings.Contains(strings.Join(res.Header.Values("Link"), ", "), want) {
				t.Errorf("%s has Link %q, want %s", uri, res.Header.Values("Link"), want)
			}
		}
	})
	t.Run("RS-DISC-02 the line for landing pages leads to the Capability List", func(t *testing.T) {
		line := string(resourcesync.LinkElement(base, "river-survey"))
		if !strings.Contains(line, `href="`+capabilityList+`"`) || !strings.Contains(line, `rel="resourcesync"`) {
			t.Error(line)
		}
	})
	t.Run("PMH-HIS-01 every modification and deletion keeps its entry", func(t *testing.T) {
		v, err := st.View(t.Context(), "river-survey", "")
		if err != nil {
			t.Fatal(err)
		}
		entries := 0
		prev := regexp.MustCompile(`rel="prev-archive" href="([^"]*)"`)
		for at := base + "/atom/river-survey"; at != ""; {
			_, body := getBody(t, client, at)
			entries += strings.Count(string(body), "<entry>")
			at = ""
			if link := prev.FindSubmatch(body); link != nil {
				at = string(link[1])
			}
		}
		if entries != int(v.Head.Position) || entries <= len(records) {
			t.Errorf("%d entries for %d changes of %d records", entries, v.Head.Position, len(records))
		}
	})
	t.Run("RS-DISC-04 robots.txt names the Resource List", func(t *testing.T) {
		_, body := getBody(t, client, base+"/robots.txt")
		if want := "Sitemap: " + base + "/rs/river-survey/resourcelist.xml\n"; !strings.Contains(string(body), want) {
			t.Errorf("%s lacks %s", body, want)
		}
	})
}

func getBody(t *testing.T, client *http.Client, url string) (*http.Response, []byte) {
	t.Helper()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, res.Status, err)
	}
	return res, body
}
