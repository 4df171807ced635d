package model

// Segment is a run of changes of one set's log, cut once for all protocols.
// Segment k yields the Atom archive document k and the closed Change List k.
type Segment struct {
	Number SegmentNumber
	// First and Last are the positions it holds, Last ≥ First.
	First, Last Position
	// From is the boundary time it begins at: B(k-1), or the set's creation for
	// segment 1. Until is B(k), one microsecond after its last change. No change
	// of the set has either time.
	From, Until Time
}

// Updated is the time of the last change in s.
func (s *Segment) Updated() Time { return s.Until - 1 }

// Limits bounds what one published document holds. Zero fields mean the
// defaults; tests lower them.
type Limits struct {
	// Entries of one list document, and items of an index: 50,000
	// (ResourceSync 1.1 §7, sitemaps.org).
	Entries int
	// Bytes of list XML that one document may need at most by the upper bound
	// of [Bound]: 40 MiB, below the 50 MB of ResourceSync 1.1 §7.
	Bytes int
	// IndexSegments is how many segments the indexes of change lists name at
	// most, the newest: 40,000.
	IndexSegments int
}

// WithDefaults returns l with the defaults in place of zeros.
func (l Limits) WithDefaults() Limits {
	if l.Entries <= 0 {
		l.Entries = 50_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 40 << 20
	}
	if l.IndexSegments <= 0 {
		l.IndexSegments = 40_000
	}
	return l
}

// Load is how much room changes or records take in list documents: entries, and
// an upper bound of their XML bytes in any dialect.
type Load struct {
	Entries int
	Bytes   int
}

// Plus is the sum of two loads.
func (l Load) Plus(m Load) Load { return Load{l.Entries + m.Entries, l.Bytes + m.Bytes} }

// Minus is what is left of l without m.
func (l Load) Minus(m Load) Load { return Load{l.Entries - m.Entries, l.Bytes - m.Bytes} }

// Exceeds tells that l does not fit one document.
func (l Load) Exceeds(limits Limits) bool {
	return l.Entries > limits.Entries || l.Bytes > limits.Bytes
}

// Cutter decides where a log is cut. Its zero value is an empty tail.
type Cutter struct {
	Changes int
	Load    Load
}

// Before tells whether the tail must be cut before a change of the given load
// is appended, because together they would not fit one document.
func (c *Cutter) Before(next Load, limits Limits) bool {
	return c.Changes > 0 && c.Load.Plus(next).Exceeds(limits)
}

// Add counts a change into the tail and tells whether the tail now fills a
// segment of size changes and must be cut after it.
func (c *Cutter) Add(load Load, size int) bool {
	c.Changes++
	c.Load = c.Load.Plus(load)
	return c.Changes >= size
}

// Bytes of an entry besides its texts: tags, times, hashes, lengths, and the
// links that every dialect may put on it, without their URIs.
const (
	boundURL   = MaxBaseURL + 64 + 64 // base URL, set name, fixed parts and number
	boundEntry = 512
	boundLink  = 128
	boundEvent = 640 // an Atom entry without texts and links
)

// Bound is the load of c in a change list or an archive document, whichever is
// larger.
func Bound(c *Change) Load {
	var l Load
	var links int
	describing := c.Describing()
	for i := range c.Resources {
		r := &c.Resources[i]
		uri := boundURI(r)
		links += boundLink + uri + escapedLen(r.Type) + escapedLen(r.Profile) + len(r.Hreflang)
		if r.Kind == Same {
			continue
		}
		l.Entries++
		l.Bytes += boundResource(r, uri)
		if r == describing {
			l.Bytes += boundDescribes(&c.State)
		}
	}
	for i := range c.Dropped {
		l.Entries++
		l.Bytes += boundURL + 3*len(c.Dropped[i].Name) + boundEntry
	}
	event := boundEvent + escapedLen(c.Identifier) + max(escapedLen(c.Title), escapedLen(c.Identifier)) + escapedLen(c.Summary) + links
	for _, s := range c.Collections {
		event += boundLink + escapedLen(s)
	}
	for i := range c.Links {
		k := &c.Links[i]
		event += boundLink + escapedLen(k.Href) + escapedLen(k.Rel) + escapedLen(k.Type) + escapedLen(k.Title) + len(k.Hreflang)
	}
	l.Bytes = max(l.Bytes, event)
	return l
}

// BoundState is the load of a live record in a resource list.
func BoundState(c *Change) Load {
	if !c.Live() {
		return Load{}
	}
	var l Load
	for i := range c.Resources {
		r := &c.Resources[i]
		l.Entries++
		l.Bytes += boundResource(r, boundURI(r))
	}
	l.Bytes += boundDescribes(&c.State)
	return l
}

func boundURI(r *Resource) int { return boundURL + 3*len(r.Name) + escapedLen(r.Href) }

func boundResource(r *Resource, uri int) int {
	n := boundEntry + uri + escapedLen(r.Type) + boundLink + escapedLen(r.Profile)
	if r.Role == File {
		n += boundLink + boundURL + 3*255 // describedby the first representation
	}
	return n
}

// boundDescribes is what the first representation's links to its files take.
func boundDescribes(s *State) int {
	n := 0
	files := s.Files()
	for i := range files {
		n += boundLink + boundURI(&files[i])
	}
	return n
}

// escapedLen is an upper bound of s escaped for XML.
func escapedLen(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '&' || c == '<' || c == '>' || c == '"' || c == '\'' || c < ' ':
			n += 5
		}
	}
	return n
}
