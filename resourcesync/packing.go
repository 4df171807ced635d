package resourcesync

import (
	"fmt"

	"gateway/dump"
	"gateway/model"
	"gateway/sitemap"
)

// packing is a package on its way: its manifest is being written, and its
// members are gathered, because the manifest comes before them and is known
// last. After an error nothing is left to do.
type packing struct {
	row      model.Package
	out      model.DocumentWriter
	manifest *dump.Manifest
	members  []packed
	names    []byte // of all members
	size     int64  // of the package at most, without the manifest
}

// packed is a member. Its name ends at nameEnd, where the next begins.
type packed struct {
	content model.Content
	time    model.Time
	nameEnd int
}

// beginPackage begins the manifest of the package that row names.
func beginPackage(out model.Sink, row model.Package, root *sitemap.Root) (*packing, error) {
	w, err := out.Create(row.Manifest, sitemap.MediaType, row.LastModified)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", row.Manifest, err)
	}
	m, err := dump.NewManifest(w, root)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", row.Manifest, err)
	}
	row.Layout = dump.Version
	return &packing{row: row, out: w, manifest: m}, nil
}

// add takes the content of r as the member at path; of a deletion r is nil.
func (p *packing) add(entry *sitemap.Entry, path []byte, r *model.Resource) error {
	if err := p.manifest.Add(entry, path); err != nil {
		return fmt.Errorf("render %s: %w", p.row.Manifest, err)
	}
	if r != nil {
		p.names = append(p.names, path...)
		p.members = append(p.members, packed{content: r.Content, time: r.Time, nameEnd: len(p.names)})
		p.size += dump.Bound(path, &r.Content)
	}
	return nil
}

// close completes the manifest and announces the package.
func (p *packing) close(out model.Sink) error {
	x, err := p.finish()
	if err != nil {
		return err
	}
	p.row.Members, p.row.Size, p.row.Digest = len(p.members), x.Size(), x.Digest()
	out.Add(p.row)
	return nil
}

// finish completes the manifest and lays the package out.
func (p *packing) finish() (*dump.Index, error) {
	if err := p.manifest.Close(); err != nil {
		return nil, fmt.Errorf("write %s: %w", p.row.Manifest, err)
	}
	if err := p.out.Close(); err != nil {
		return nil, fmt.Errorf("complete %s: %w", p.row.Manifest, err)
	}
	manifest := p.out.Content()
	x, err := newIndex(&p.row, &manifest, len(p.members))
	if err != nil {
		return nil, err
	}
	start := 0
	for i := range p.members {
		m := &p.members[i]
		if err := x.Add(p.names[start:m.nameEnd], &m.content, m.time); err != nil {
			return nil, fmt.Errorf("lay out %s: %w", p.row.Path, err)
		}
		start = m.nameEnd
	}
	return x, nil
}

// newIndex begins the index of a package with its manifest, and has room for so
// many members more.
func newIndex(p *model.Package, manifest *model.Content, members int) (*dump.Index, error) {
	x, err := dump.NewIndex(p.Layout, members+1)
	if err == nil {
		err = x.Add([]byte(dump.ManifestName), manifest, p.LastModified)
	}
	if err != nil {
		return nil, fmt.Errorf("lay out %s: %w", p.Path, err)
	}
	return x, nil
}

// resourcePackages writes the packages that hold what one part of a Resource
// List lists: one, or several if it would become larger than the policy wants. A
// record is in one package whole; one that is too large alone has a package of
// its own. A part without resources has none.
type resourcePackages struct {
	view     model.View
	snapshot model.Snapshot
	part     int
	out      model.Sink

	number int
	open   *packing
	path   []byte // reused
}

// begin makes room for the resources of a record: the open package is closed if
// they might make it too large.
func (p *resourcePackages) begin(c *model.Change) error {
	if p.open == nil {
		return nil
	}
	need := p.open.size + p.open.manifest.Size() + int64(model.BoundState(c).Bytes)
	for i := range c.Resources {
		if r := &c.Resources[i]; !r.External() {
			p.path = dump.AppendResourcePath(p.path[:0], c.Record, r.Name)
			need += dump.Bound(p.path, &r.Content) + boundPath
		}
	}
	if need+dump.Overhead <= p.view.Set.Policy.PackageSize {
		return nil
	}
	return p.close()
}

// boundPath is the length of an attribute path at most, which is in a manifest
// but not in the list that model bounds.
const boundPath = 160

func (p *resourcePackages) add(c *model.Change, r *model.Resource, entry *sitemap.Entry) error {
	if p.open == nil {
		if err := p.next(c.Record); err != nil {
			return err
		}
	}
	p.open.row.Last = c.Record
	p.path = dump.AppendResourcePath(p.path[:0], c.Record, r.Name)
	return p.open.add(entry, p.path, r)
}

// next begins the next package, whose first record is first.
func (p *resourcePackages) next(first model.RecordNumber) (err error) {
	p.number++
	name := ResourcePackage{Generation: generation(&p.view, &p.snapshot), Part: p.part, Number: p.number}
	p.open, err = beginPackage(p.out, model.Package{
		Path: name.Path(), Manifest: name.ManifestPath(),
		Snapshot: p.snapshot.Number, Position: p.snapshot.Position, First: first,
		LastModified: listModified(&p.view, &p.snapshot),
	}, &sitemap.Root{
		Links: []sitemap.Link{up(&p.view)},
		MD:    sitemap.MD{Capability: dump.ResourceDumpManifest, At: p.snapshot.At.Append(nil)},
	})
	return err
}

func (p *resourcePackages) close() error {
	if p.open == nil {
		return nil
	}
	err := p.open.close(p.out)
	p.open = nil
	return err
}

// changePackage writes the package of a segment. A nil one writes nothing.
type changePackage struct {
	*packing
	path []byte // reused
}

func beginChangePackage(out model.Sink, v *model.View, seg *model.Segment) (*changePackage, error) {
	if !v.Set.Policy.Offers(changeDump) {
		return nil, nil
	}
	name := ChangePackage{Set: v.Set.Name, Epoch: v.Epoch.Number, Segment: seg.Number}
	p, err := beginPackage(out, model.Package{
		Path: name.Path(), Manifest: name.ManifestPath(), Segment: seg.Number, Position: seg.Last, LastModified: seg.Until,
	}, &sitemap.Root{
		Links: []sitemap.Link{up(v)},
		MD: sitemap.MD{
			Capability: dump.ChangeDumpManifest, From: fromIn(&v.Epoch, seg.From).Append(nil), Until: seg.Until.Append(nil),
		},
	})
	return &changePackage{packing: p}, err
}

// change takes what c made of r, which is nil when it was deleted.
func (p *changePackage) change(c *model.Change, r *model.Resource, entry *sitemap.Entry) error {
	switch {
	case p == nil:
		return nil
	case r == nil:
		return p.add(entry, nil, nil)
	}
	p.path = dump.AppendChangePath(p.path[:0], c.Position, r.Name)
	return p.add(entry, p.path, r)
}

func (p *changePackage) close(out model.Sink) error {
	if p == nil {
		return nil
	}
	return p.packing.close(out)
}
