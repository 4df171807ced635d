package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"testing"

	"gateway/internal/fold"
	"gateway/model"
	"gateway/publish"
	"gateway/store"
)

// TestBehindNginx walks everything under a base URL with a path: through an nginx
// that strips the path and through one that keeps it, as docs/reference/delivery.md
// has them.
func TestBehindNginx(t *testing.T) {
	t.Parallel()
	tool(t, "nginx")
	const prefix = "/repo/sync"
	for name, location := range map[string]string{
		"strips": `		location ` + prefix + `/ {
			# $request_uri is the path as the client sent it; with proxy_pass alone
			# nginx would decode %%25 and %%2F in it.
			rewrite ^ $request_uri;
			rewrite ^` + prefix + `(/.*)$ $1 break;
			return 400;
			proxy_pass http://%[1]s$uri;
		}
`,
		"keeps": `		location ` + prefix + `/ {
			proxy_pass http://%[1]s;
		}
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, front, back := t.TempDir(), freeAddress(t), freeAddress(t)
			base := "http://" + front + prefix
			st := proxiedSet(t, data, base)
			serveStoreAt(t, nil, data, back)
			startNginx(t, "http://"+front, fmt.Sprintf("\tserver {\n\t\tlisten %[2]s;\n"+location+"\t}\n", back, front))
			walk(t, st, base)
		})
	}
}

// proxiedSet publishes a set whose names need escaping.
func proxiedSet(t *testing.T, data, base string) *opened {
	t.Helper()
	st, err := openTestStore(t.Context(), data, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	if err := st.SetBaseURL(t.Context(), base, true); err != nil {
		t.Fatal(err)
	}
	policy := model.DefaultPolicy()
	policy.SegmentSize = 20
	set, err := st.CreateSet(t.Context(), model.Set{Name: "rivers", Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	batch := make([]model.Incoming, 70)
	for i := range batch {
		batch[i].Record = model.Record{Identifier: fmt.Sprintf("urn:example:%d", i)}
		batch[i].Record.Title = fmt.Sprintf("Record %d", i)
		for n, name := range []string{"record.xml", "größe 100%.txt", "a+b;c=d&e.txt", "50%25.txt"} {
			r, body := keptText(model.Role(min(n, 1)), name, "text/plain", fmt.Sprintf("%s of %d", name, i), n%2 == 0)
			batch[i].Record.Resources = append(batch[i].Record.Resources, r)
			batch[i].Bodies = append(batch[i].Bodies, body)
		}
	}
	if _, err := st.Commit(t.Context(), set.ID, batch, store.CommitOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := st.publisher.Publish(t.Context(), set.ID, publish.Snapshot); err != nil {
		t.Fatal(err)
	}
	return st
}

// walk fetches every document, resource and package from the base URL on, by
// links only, and compares what they say with each other.
func walk(t *testing.T, st *opened, base string) {
	t.Helper()
	w := fold.NewWitness(&http.Client{})
	sets, err := w.CapabilityLists(base)
	if err != nil {
		t.Fatal(err)
	}
	capabilities := sets["rivers"]
	records, err := w.Atom(base + "/atom/rivers")
	if err != nil || len(records) != 70 {
		t.Fatalf("the Atom chain has %d records: %v", len(records), err)
	}
	if complete, err := w.Complete(base + "/atom/rivers/complete"); err != nil || len(complete) != 70 {
		t.Errorf("the complete feed has %d records: %v", len(complete), err)
	}
	listed, _, err := w.ResourceList(capabilities)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := w.ChangeList(capabilities)
	if err != nil {
		t.Fatal(err)
	}
	packed, _, err := w.ResourceDump(capabilities)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.ChangeDump(capabilities); err != nil {
		t.Error(err)
	}
	changed := map[string]fold.Resource{}
	if err := fold.Apply(changed, changes, ""); err != nil {
		t.Error(err)
	}
	if len(listed) != 4*70 || len(packed) != len(listed) || len(changed) != len(listed) {
		t.Errorf("%d resources are listed, %d packed, %d changed", len(listed), len(packed), len(changed))
	}
	for uri, r := range listed {
		checkResource(t, uri, r)
	}
	if err := w.Recheck(mediaTypeOf); err != nil {
		t.Error(err)
	}
	t.Logf("%d documents", w.Documents())
}

func checkResource(t *testing.T, uri string, r fold.Resource) {
	t.Helper()
	res, err := http.Get(uri)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || fmt.Sprintf("%x", sha256.Sum256(body)) != r.SHA256 {
		t.Errorf("%s: %s, %d bytes of %d: %v", uri, res.Status, len(body), r.Length, err)
	}
}
