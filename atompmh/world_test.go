package atompmh_test

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"hash/crc32"

	"pgregory.net/rapid"

	"gateway/atompmh"
	"gateway/model"
	"gateway/model/modeltest"
	"gateway/publish"
)

var _ publish.Renderer = atompmh.Renderer{}

// world is a Source over a log in memory, as of any position and any number of
// published segments. It fails the test when a sealed document changes.
type world struct {
	*modeltest.Log
	t         rapid.TB
	position  model.Position
	published model.SegmentNumber
	notReady  bool
	sealed    map[string]sealedDocument
	parsed    map[string]*xmlFeed // by their bytes, which come again and again
	others    []model.View        // further sets, by name
}

type sealedDocument struct {
	model.Document
	bytes []byte
	kept  []byte // deflated
}

func deflated(b []byte) []byte {
	var kept bytes.Buffer
	w, _ := flate.NewWriter(&kept, flate.BestSpeed) // the level is a valid one
	_, _ = w.Write(b)                               // a buffer takes everything
	_ = w.Close()
	return kept.Bytes()
}

func newWorld(t rapid.TB, segmentSize int) *world {
	l := modeltest.New("rivers", base)
	l.Set.Policy.SegmentSize = segmentSize
	return &world{Log: l, t: t, sealed: map[string]sealedDocument{}, parsed: map[string]*xmlFeed{}}
}

const base = "https://sync.example/repo"

// at moves the world to position p with the segments up to published, all of
// which are at or before p, published one after the other.
func (w *world) at(p model.Position, published model.SegmentNumber) *world {
	w.position, w.published = p, published
	for _, seg := range w.Cut()[:published] {
		w.seal(p, seg)
	}
	return w
}

// now moves the world to the head with everything published.
func (w *world) now() *world { return w.at(w.Head(), model.SegmentNumber(len(w.Cut()))) }

func (w *world) seal(p model.Position, seg model.Segment) {
	v := w.Log.View(p, seg.Number-1)
	if err := (atompmh.Renderer{}).Seal(context.Background(), w, v, seg, sink{w}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) view() model.View {
	v := w.Log.View(w.position, w.published)
	v.Ready = !w.notReady
	return v
}

func (w *world) View(_ context.Context, set, renderer string) (model.View, error) {
	if set != w.Set.Name || renderer != "atom-pmh" {
		return model.View{}, model.ErrNotFound
	}
	return w.view(), nil
}

func (w *world) Views(_ context.Context, after string, limit int) (views []model.View, err error) {
	for _, v := range append([]model.View{w.view()}, w.others...) {
		if v.Set.Name > after && len(views) < limit {
			views = append(views, v)
		}
	}
	return views, nil
}

func (w *world) Document(_ context.Context, _ model.SetID, path string) (model.Document, error) {
	d, ok := w.sealed[path]
	if !ok {
		return model.Document{}, model.ErrNotFound
	}
	return d.Document, nil
}

func (w *world) OpenObject(_ context.Context, key string) (model.Kept, error) {
	d, ok := w.sealed[key]
	if !ok {
		return nil, model.ErrNotFound
	}
	return object{bytes.NewReader(d.kept)}, nil
}

type object struct{ *bytes.Reader }

func (object) Close() error { return nil }

// sink keeps sealed documents as they are.
type sink struct{ w *world }

func (s sink) Create(path, mediaType string, lastModified model.Time) (model.DocumentWriter, error) {
	return &sealing{w: s.w, document: model.Document{Path: path, Type: mediaType, Object: path, LastModified: lastModified}}, nil
}

func (s sink) Add(p model.Package) { s.w.t.Errorf("an Atom renderer announced package %s", p.Path) }

type sealing struct {
	bytes.Buffer
	w        *world
	document model.Document
}

func (s *sealing) Content() model.Content { return s.document.Content }

func (s *sealing) Close() error {
	b := s.Bytes()
	kept := deflated(b)
	s.document.Content = model.Content{
		Length: int64(len(b)), SHA256: sha256.Sum256(b), CRC32: crc32.ChecksumIEEE(b), Deflated: true, Stored: int64(len(kept)),
	}
	next := sealedDocument{s.document, b, kept}
	if was, ok := s.w.sealed[s.document.Path]; ok && (was.Document != next.Document || !bytes.Equal(was.bytes, b)) {
		s.w.t.Errorf("ARCH-11 %s changed after it was sealed:\n%s\nwas\n%s", s.document.Path, b, was.bytes)
	}
	s.w.sealed[s.document.Path] = next
	return nil
}

// get is the document at path as the world serves it, without HTTP; nil when
// there is none.
func (w *world) get(path string) []byte {
	v := w.view()
	if a, err := atompmh.ParseArchivePath(path); err == nil {
		if a.Segment == v.Published.Number {
			return w.render(atompmh.AppendArchive(context.Background(), nil, w, &v, false))
		}
		if a.Segment > v.Published.Number {
			return nil
		}
		return w.sealed[path].bytes
	}
	if _, err := atompmh.ParseCompletePath(path); err == nil {
		return w.render(atompmh.AppendComplete(context.Background(), nil, w, &v))
	}
	if _, err := atompmh.ParseSubscriptionPath(path); err != nil {
		return nil
	}
	return w.render(atompmh.AppendSubscription(context.Background(), nil, w, &v))
}

// feed is the feed at path, nil when there is none.
func (w *world) feed(path string) *xmlFeed {
	b := w.get(path)
	if b == nil {
		return nil
	}
	f, ok := w.parsed[string(b)]
	if !ok {
		f = parseFeed(w.t, b)
		w.parsed[string(b)] = f
	}
	return f
}

func (w *world) render(b []byte, err error) []byte {
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}
