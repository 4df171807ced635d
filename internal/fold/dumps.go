package fold

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const packageType = "application/zip"

// ResourceDump folds the newest Resource Dump of a set: what its packages hold,
// by URI, and its at. Contents are compared with what the manifests say.
func (w *Witness) ResourceDump(capabilityList string) (resources map[string]Resource, at string, err error) {
	url, err := w.capability(capabilityList, "resourcedump")
	if err != nil {
		return nil, "", err
	}
	top, packages, err := w.packages(url, "resourcedump")
	if err != nil {
		return nil, "", err
	}
	at = top.MD[0].At
	resources = map[string]Resource{}
	for _, p := range packages {
		manifest, err := w.unpack(p, "resourcedump-manifest")
		if err != nil {
			return nil, "", err
		}
		if manifest.MD[0].At != at {
			return nil, "", fmt.Errorf("%s: RS-RDM-02: at %s, the dump says %s", p.Loc[0], manifest.MD[0].At, at)
		}
		for i := range manifest.URLs {
			u := &manifest.URLs[i]
			if _, twice := resources[u.Loc[0]]; twice || u.MD[0].Change != "" || u.LastMod > at {
				return nil, "", fmt.Errorf("%s: %s is there twice: %v, with change %q, lastmod %s, at is %s",
					p.Loc[0], u.Loc[0], twice, u.MD[0].Change, u.LastMod, at)
			}
			if resources[u.Loc[0]], err = u.resource(); err != nil {
				return nil, "", err
			}
		}
	}
	return resources, at, nil
}

// ChangeDump returns all changes that the packages of a set's Change Dump hold,
// oldest first, and the time up to which they go, which is "" when there is no
// package yet. Contents are compared with what the manifests say.
func (w *Witness) ChangeDump(capabilityList string) (changes []Change, until string, err error) {
	url, err := w.capability(capabilityList, "changedump")
	if err != nil {
		return nil, "", err
	}
	top, packages, err := w.packages(url, "changedump")
	if err != nil {
		return nil, "", err
	}
	if top.MD[0].From == "" || top.MD[0].Until != "" {
		return nil, "", fmt.Errorf("%s: RS-CD-01: is [%s, %s]", url, top.MD[0].From, top.MD[0].Until)
	}
	from := top.MD[0].From
	for _, p := range packages {
		manifest, err := w.unpack(p, "changedump-manifest")
		if err != nil {
			return nil, "", err
		}
		about := manifest.MD[0]
		if about.From != from || about.Until == "" || p.MD[0].From != from || p.MD[0].Until != about.Until {
			return nil, "", fmt.Errorf("%s: RS-CD-02: is [%s, %s], its dump says [%s, %s], the one before ends at %s",
				p.Loc[0], about.From, about.Until, p.MD[0].From, p.MD[0].Until, from)
		}
		from, until = about.Until, about.Until
		if changes, err = manifest.changes(p.Loc[0], changes); err != nil {
			return nil, "", err
		}
	}
	return changes, until, nil
}

// packages are the entries of a dump, or of the parts of its index.
func (w *Witness) packages(url, capability string) (top *list, packages []item, err error) {
	top, err = w.list(url, capability)
	if err != nil {
		return nil, nil, err
	}
	if !top.index() {
		return top, top.URLs, nil
	}
	for _, m := range top.Maps {
		p, err := w.list(m.Loc[0], capability)
		if err != nil {
			return nil, nil, err
		}
		packages = append(packages, p.URLs...)
	}
	return top, packages, nil
}

// unpack fetches a package and checks it: its manifest is the one that stands
// alone, and lists every member with its length and sum. It returns the
// manifest.
func (w *Witness) unpack(p item, capability string) (*list, error) {
	url := p.Loc[0]
	w.mu.Lock()
	kept, ok := w.kept[url]
	w.mu.Unlock()
	if ok {
		return kept.(*list), nil
	}
	body, err := w.Get(url, packageType)
	if err != nil {
		return nil, err
	}
	if p.MD[0].Type != packageType || p.MD[0].Length != strconv.Itoa(len(body)) {
		return nil, fmt.Errorf("%s: RS-RD-02: %d bytes, listed as %s of %s", url, len(body), p.MD[0].Type, p.MD[0].Length)
	}
	members, err := unzip(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	if err := w.compareManifest(p, members["manifest.xml"]); err != nil {
		return nil, err
	}
	manifest := new(list)
	if err := xml.Unmarshal(members["manifest.xml"], manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	delete(members, "manifest.xml")
	if err := manifest.check(capability, members); err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, sealed := w.sealed[url]; sealed && w.Cache {
		w.kept[url] = manifest
	}
	return manifest, nil
}

func (w *Witness) compareManifest(p item, inside []byte) error {
	for _, l := range p.Links {
		if l.Rel != "contents" {
			continue
		}
		alone, err := w.Get(l.Href, listType)
		if err == nil && !bytes.Equal(alone, inside) {
			err = fmt.Errorf("%s: RS-RD-04: is not the manifest in %s", l.Href, p.Loc[0])
		}
		return err
	}
	return fmt.Errorf("%s: RS-RD-04: no link to its contents", p.Loc[0])
}

func unzip(b []byte) (map[string][]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	members := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if members[f.Name] != nil {
			return nil, fmt.Errorf("RS-RDM-05: %s is there twice", f.Name)
		}
		members[f.Name] = content
	}
	return members, nil
}

// check holds a manifest against the members of its package.
func (l *list) check(capability string, members map[string][]byte) error {
	if len(l.MD) != 1 || l.MD[0].Capability != capability || l.link("up") == "" {
		return fmt.Errorf("RS-RDM-02, RS-CDM-01: want a manifest of capability %s with a link up", capability)
	}
	seen := map[string]bool{}
	for i := range l.URLs {
		u := &l.URLs[i]
		if len(u.Loc) != 1 || len(u.MD) != 1 {
			return fmt.Errorf("RS-DOC-05, RS-DOC-06: entry %d has not one loc and one rs:md", i+1)
		}
		about := u.MD[0]
		if about.Change == "deleted" {
			if about.Path != "" {
				return fmt.Errorf("RS-CDM-02: the deletion of %s has a path", u.Loc[0])
			}
			continue
		}
		r, err := u.resource()
		if err != nil {
			return err
		}
		name, slash := strings.CutPrefix(about.Path, "/")
		content, there := members[name]
		sum := sha256.Sum256(content)
		if !slash || !there || seen[name] || r.Length != int64(len(content)) || r.SHA256 != hex.EncodeToString(sum[:]) {
			return fmt.Errorf("RS-RDM-03, RS-RDM-06: %s is not the member %q of %d bytes", u.Loc[0], about.Path, len(content))
		}
		seen[name] = true
	}
	if len(seen) != len(members) {
		return fmt.Errorf("RS-RDM-06: %d members, %d listed", len(members), len(seen))
	}
	return nil
}
