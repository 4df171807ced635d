package resourcesync

import (
	"context"
	"fmt"

	"gateway/model"
	"gateway/sitemap"
)

// Renderer makes what is stored: closed Change Lists, Resource Lists with their
// indexes, and, where the set's policy offers them, the packages of dumps with
// their manifests. It holds a buffer of one document at a time and, for
// packages, some 100 bytes for each member of one.
type Renderer struct {
	limits model.Limits
}

// NewRenderer is a renderer for documents of at most the given limits.
func NewRenderer(limits model.Limits) *Renderer { return &Renderer{limits: limits.WithDefaults()} }

// Name is [Name].
func (*Renderer) Name() string { return Name }

// Seal creates the closed Change List of seg, and the Change Dump package of the
// same changes. Their Last-Modified is their until, when they became final.
func (*Renderer) Seal(ctx context.Context, log model.Log, v model.View, seg model.Segment, out model.Sink) error {
	if seg.Last <= v.Epoch.First {
		return nil // no index of the epoch names it
	}
	list := ChangeList{Set: v.Set.Name, Epoch: v.Epoch.Number, Segment: seg.Number}
	d, err := create(out, list.Path(), seg.Until)
	if err != nil {
		return err
	}
	d.b = appendChangeListRoot(d.b, &v, fromIn(&v.Epoch, seg.From), seg.Until)
	p, err := beginChangePackage(out, &v, &seg)
	if err != nil {
		return err
	}
	e := entriesOf(&v)
	for c, err := range log.Changes(ctx, v.Set.ID, max(seg.First-1, v.Epoch.First), seg.Last) {
		if err != nil {
			return fmt.Errorf("render %s: %w", d.path, err)
		}
		for r, entry := range e.changes(c) {
			d.b = sitemap.List.AppendEntry(d.b, entry)
			if err := p.change(c, r, entry); err != nil {
				return err
			}
		}
		if err := d.flush(flushAt); err != nil {
			return err
		}
	}
	d.b = sitemap.List.AppendEnd(d.b)
	if err := d.close(); err != nil {
		return err
	}
	return p.close(out)
}

// Part begins part number of the Resource List of s, and of its Resource Dump.
func (*Renderer) Part(v model.View, s model.Snapshot, number int, single bool, out model.Sink) (model.PartWriter, error) {
	g := generation(&v, &s)
	d, err := create(out, g.PartPath(number), listModified(&v, &s))
	if err != nil {
		return nil, err
	}
	d.b = appendPartRoot(d.b, &v, &s, single)
	p := &part{document: d, entries: entriesOf(&v)}
	if v.Set.Policy.Offers(resourceDump) {
		p.packages = &resourcePackages{view: v, snapshot: s, part: number, out: out}
	}
	return p, nil
}

// Index creates the index over the parts of s.
func (r *Renderer) Index(_ context.Context, v model.View, s model.Snapshot, out model.Sink) error {
	if s.Parts > r.limits.Entries {
		return fmt.Errorf("render resource list index of set %s: %d parts, and an index names %d at most", v.Set.Name, s.Parts, r.limits.Entries)
	}
	d, err := create(out, generation(&v, &s).IndexPath(), listModified(&v, &s))
	if err != nil {
		return err
	}
	d.b = appendPartIndex(d.b, &v, &s)
	return d.close()
}

// listModified is the Last-Modified of a Resource List: its at. The first of a
// later epoch replaces under resourcelist.xml one that may have the same at.
func listModified(v *model.View, s *model.Snapshot) model.Time { return max(s.At, v.Epoch.Began) }

// part is the writer of one Resource List and of the packages that hold what it
// lists.
type part struct {
	document
	entries  entries
	packages *resourcePackages // nil: the set offers none
}

// Record appends the resources of a live record.
func (p *part) Record(c *model.Change) error {
	if p.packages != nil {
		if err := p.packages.begin(c); err != nil {
			return err
		}
	}
	for r, entry := range p.entries.states(c) {
		p.b = sitemap.List.AppendEntry(p.b, entry)
		if p.packages != nil {
			if err := p.packages.add(c, r, entry); err != nil {
				return err
			}
		}
	}
	return p.flush(flushAt)
}

// Close completes the list and its last package.
func (p *part) Close() error {
	p.b = sitemap.List.AppendEnd(p.b)
	if err := p.close(); err != nil {
		return err
	}
	if p.packages == nil {
		return nil
	}
	return p.packages.close()
}

// flushAt is how many bytes of a document are gathered before they are written.
const flushAt = 64 << 10

// document is a document on its way into a sink. One that is not closed does
// not exist, so that after an error nothing is left to do.
type document struct {
	path string
	out  model.DocumentWriter
	b    []byte
}

func create(sink model.Sink, path string, modified model.Time) (document, error) {
	out, err := sink.Create(path, sitemap.MediaType, modified)
	if err != nil {
		return document{}, fmt.Errorf("create %s: %w", path, err)
	}
	return document{path: path, out: out, b: make([]byte, 0, flushAt+flushAt/4)}, nil
}

// flush writes what was gathered if it is at least least bytes.
func (d *document) flush(least int) error {
	if len(d.b) < least {
		return nil
	}
	_, err := d.out.Write(d.b)
	d.b = d.b[:0]
	if err != nil {
		return fmt.Errorf("write %s: %w", d.path, err)
	}
	return nil
}

func (d *document) close() error {
	if err := d.flush(0); err != nil {
		return err
	}
	if err := d.out.Close(); err != nil {
		return fmt.Errorf("complete %s: %w", d.path, err)
	}
	return nil
}
