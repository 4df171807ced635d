package model

// Role tells a representation from a file.
type Role uint8

const (
	// Representation is the metadata record in one of its formats (Atom:
	// alternate link).
	Representation Role = iota
	// File is what the record describes (Atom: enclosure link; ResourceSync: a
	// resource described by the first representation).
	File
)

func (r Role) String() string {
	if r == File {
		return "file"
	}
	return "representation"
}

// Content says what the bytes of a resource or a document are, and how they are
// kept. Zero is no content (an external resource).
type Content struct {
	Length int64    // of the identity bytes
	SHA256 [32]byte // of the identity bytes
	MD5    [16]byte // of the identity bytes; zero where nobody asks (documents)
	CRC32  uint32   // IEEE, of the identity bytes, as gzip and ZIP want it
	// Deflated: kept as one raw DEFLATE stream (RFC 1951) of Stored bytes.
	// Otherwise kept as it is, and Stored equals Length.
	Deflated bool
	Stored   int64
}

// Resource is a representation or a file of a record. The set of a record's
// resources is part of its state; the fields of the log at the end are filled
// by [Compare] and Commit.
type Resource struct {
	Role     Role
	Name     string // unique in its record over both roles
	Type     string // media type without profile parameter
	Profile  string // a URI, or ""
	Hreflang string // a language tag, or ""
	// Href is where an external resource is; "" when its content is hosted.
	Href string
	// Content describes hosted bytes. Of an external resource it holds what
	// was declared on input, which is never published unchecked: Length -1 and
	// zero hashes when nothing was.
	Content Content

	Key      ContentKey // of hosted content
	Kind     Kind       // Created, Updated or Same in this change
	Position Position   // of its last change
	Time     Time       // of its last change
}

// External tells that the content of r is elsewhere.
func (r *Resource) External() bool { return r.Href != "" }

// MediaType is the Content-Type of r and the type of its Atom link, byte for
// byte: the type with the profile as its parameter (RFC 6906).
func (r *Resource) MediaType() string {
	if r.Profile == "" {
		return r.Type
	}
	return r.Type + `; profile="` + r.Profile + `"`
}

// Link is a link of a record to something else, given on input.
type Link struct {
	Rel      string
	Href     string
	Type     string
	Hreflang string
	Title    string
}

// State is the whole of a record at one time, without its identity.
type State struct {
	Title       string
	Summary     string
	Collections []string
	Modified    string // the source's own date, kept as data, never log time
	Links       []Link
	// Resources holds the representations in order, then the files in order.
	Resources []Resource
}

// Representations returns the representations of s, in order.
func (s *State) Representations() []Resource { return s.Resources[:s.representations()] }

// Files returns the files of s, in order.
func (s *State) Files() []Resource { return s.Resources[s.representations():] }

func (s *State) representations() int {
	for i := range s.Resources {
		if s.Resources[i].Role == File {
			return i
		}
	}
	return len(s.Resources)
}

// Describing returns the representation that stands for the record's metadata
// where its files are described: the first hosted one, or nil when there is
// none.
func (s *State) Describing() *Resource {
	for i := range s.Resources {
		if r := &s.Resources[i]; r.Role == Representation && !r.External() {
			return r
		}
	}
	return nil
}

// Resource returns the resource called name, or nil.
func (s *State) Resource(name string) *Resource {
	for i := range s.Resources {
		if s.Resources[i].Name == name {
			return &s.Resources[i]
		}
	}
	return nil
}

// Record is a record as it comes in: its identity and the state it shall have.
type Record struct {
	Identifier string // an absolute IRI, unique in its set, compared byte by byte
	Deleted    bool   // the record shall not exist; State is empty
	State
}

// Body is the content of one resource on its way in, in its kept form
// ([Content.Deflated]): either Bytes, or the key of an Object that already holds
// it.
type Body struct {
	Bytes  []byte
	Object string
}

// Incoming is a record with its content, as a commit takes it.
type Incoming struct {
	Record Record
	// Bodies runs parallel to Record.Resources; external ones have an empty
	// Body.
	Bodies []Body
	// IfPosition, when not nil, is the position the record must have as its
	// last change (0: it must be unknown), or this record is rejected with
	// [ErrPrecondition].
	IfPosition *Position
}

// Outcome is what a commit did with one incoming record.
type Outcome struct {
	Number   RecordNumber // 0 when the record is unknown and stays so
	Position Position     // of the record's last change
	Kind     Kind         // Same when nothing was written
	Err      error        // why this record was rejected; the others are not affected
}

// Dropped is a resource that a change took away.
type Dropped struct {
	Name     string
	Role     Role
	External bool
}

// Change is one entry of a set's log.
type Change struct {
	Position   Position
	Time       Time
	Record     RecordNumber
	Kind       Kind     // Created, Updated or Deleted
	Previous   Position // of the record's change before this one; 0 is none
	Identifier string
	// State is the record after the change. A deletion keeps the last title
	// and has no resources.
	State
	Dropped []Dropped
}

// Live tells that the record exists after c.
func (c *Change) Live() bool { return c.Kind != Deleted }
