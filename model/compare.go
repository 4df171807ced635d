package model

import "slices"

// Compare says what it takes to bring a record from current, its newest change
// (nil: never seen), to next. ok is false when nothing differs. Otherwise the
// change has everything but the content keys of resources whose bytes are new:
// those have Key 0.
//
// pos and t are the position and time the change would have; number is the
// record's number, used when current is nil.
//
// A resource is Updated when its bytes, type, profile, hreflang, role or, of an
// external one, its place or declared sums differ. Modified alone is no
// difference. The order of resources is: it makes a change of the record and
// leaves the resources Same. A resource that moves between hosted and external
// is dropped as the one and created as the other, because renderers publish the
// two kinds differently.
func Compare(current *Change, next *Record, number RecordNumber, pos Position, t Time) (c Change, ok bool) {
	c = Change{Position: pos, Time: t, Record: number, Identifier: next.Identifier, Kind: Created}
	live := current != nil && current.Live()
	if current != nil {
		c.Record, c.Previous = current.Record, current.Position
	}
	if next.Deleted {
		if !live {
			return Change{}, false
		}
		c.Kind = Deleted
		c.Title = current.Title
		c.Dropped = make([]Dropped, 0, len(current.Resources))
		for i := range current.Resources {
			c.Dropped = append(c.Dropped, droppedOf(&current.Resources[i]))
		}
		return c, true
	}

	c.State = next.State
	c.Resources = slices.Clone(next.Resources)
	differs := !live
	if live {
		c.Kind = Updated
		differs = current.Title != next.Title || current.Summary != next.Summary ||
			!slices.Equal(current.Collections, next.Collections) ||
			!slices.Equal(current.Links, next.Links) ||
			len(current.Resources) != len(next.Resources)
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		r.Kind, r.Position, r.Time, r.Key = Created, pos, t, 0
		if !live {
			continue
		}
		was := current.Resource(r.Name)
		if was == nil || was.External() != r.External() {
			differs = true
			continue
		}
		if !r.External() && was.Content.SHA256 == r.Content.SHA256 && was.Content.Length == r.Content.Length {
			r.Key, r.Content = was.Key, was.Content
		}
		if sameResource(was, r) {
			r.Kind, r.Position, r.Time = Same, was.Position, was.Time
			differs = differs || i >= len(current.Resources) || current.Resources[i].Name != r.Name
		} else {
			r.Kind = Updated
			differs = true
		}
	}
	if !differs {
		return Change{}, false
	}
	if live {
		for i := range current.Resources {
			was := &current.Resources[i]
			if now := c.Resource(was.Name); now == nil || now.External() != was.External() {
				c.Dropped = append(c.Dropped, droppedOf(was))
			}
		}
	}
	return c, true
}

func droppedOf(r *Resource) Dropped {
	return Dropped{Name: r.Name, Role: r.Role, External: r.External()}
}

func sameResource(a, b *Resource) bool {
	return a.Role == b.Role && a.Type == b.Type && a.Profile == b.Profile && a.Hreflang == b.Hreflang && a.Href == b.Href &&
		a.Content.Length == b.Content.Length && a.Content.SHA256 == b.Content.SHA256 &&
		(a.Href == "" || a.Content.MD5 == b.Content.MD5)
}
