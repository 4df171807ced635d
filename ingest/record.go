package ingest

import (
	"encoding/hex"
	"fmt"
	"slices"

	"gateway/model"
)

// Fields of a record on input, by the number that its decoder switches on.
const (
	fieldIdentifier = iota
	fieldTitle
	fieldSummary
	fieldCollections
	fieldModified
	fieldRepresentations
	fieldFiles
	fieldLinks
	fieldDeleted
	fieldSet // the extra one that names the set, if any
)

var recordFields = []string{"identifier", "title", "summary", "collections", "modified", "representations", "files", "links", "deleted"}

const (
	fieldName = iota
	fieldType
	fieldProfile
	fieldHreflang
	fieldContent
	fieldContentBase64
	fieldContentFile
	fieldContentSHA256
	fieldHref
	fieldLength
	fieldHashes
)

var resourceFields = []string{"name", "type", "profile", "hreflang", "content", "content_base64", "content_file", "content_sha256", "href", "length", "hashes"}

const (
	fieldRel = iota
	fieldLinkHref
	fieldLinkType
	fieldLinkHreflang
	fieldLinkTitle
)

var linkFields = []string{"rel", "href", "type", "hreflang", "title"}

const (
	fieldMD5 = iota
	fieldSHA1
	fieldSHA256
)

var hashFields = []string{"md5", "sha-1", "sha-256"}

func isRecordField(name string) bool { return slices.Contains(recordFields, name) }

// input is a record as a line has it: its content is not yet hashed.
type input struct {
	model.Record
	sources []source // parallel to Resources; those with href are external
	// representations and files say how many resources of each were given.
	representations, files int
	set                    string // the name that the line has for its set
	// replaced are the fields for people that hold half a surrogate pair.
	replaced []string
}

// source says where the content of a resource comes from.
type source struct {
	field    int    // fieldContent, …: which of the fields gives it
	text     text   // of content and content_base64
	file     string // of content_file
	declared declared
}

// declared is what a resource says about its content.
type declared struct {
	length int64  // -1: nothing
	md5    []byte // nil: nothing
	sha1   []byte
	sha256 []byte
}

// decoder reads records from lines. Its results share the line's memory.
type decoder struct {
	scanner
	setFrom         string
	fields          []string
	in              input
	representations parts
	files           parts
}

// parts are the resources of one role, in order.
type parts struct {
	resources []model.Resource
	sources   []source
}

func newDecoder(setFrom string) *decoder {
	d := &decoder{setFrom: setFrom, fields: recordFields}
	if setFrom != "" && setFrom != "collections" {
		d.fields = append(slices.Clip(recordFields), setFrom)
	}
	return d
}

// decode reads the record of a line. The result is valid until the next call.
func (d *decoder) decode(line []byte) (*input, error) {
	d.b, d.i = line, 0
	d.in = input{sources: d.in.sources[:0]}
	d.representations.reset()
	d.files.reset()
	if err := d.object(d.fields, d.recordField); err != nil {
		return nil, err
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	if d.setFrom == "collections" && len(d.in.Collections) > 0 {
		d.in.set = d.in.Collections[0]
	}
	d.in.representations, d.in.files = len(d.representations.resources), len(d.files.resources)
	if n := d.in.representations + d.in.files; n > 0 {
		d.in.Resources = append(append(make([]model.Resource, 0, n), d.representations.resources...), d.files.resources...)
		d.in.sources = append(append(d.in.sources, d.representations.sources...), d.files.sources...)
	}
	return &d.in, nil
}

func (p *parts) reset() {
	clear(p.resources) // holds no strings of earlier lines
	clear(p.sources)
	p.resources, p.sources = p.resources[:0], p.sources[:0]
}

func (d *decoder) recordField(k int) (err error) {
	in := &d.in
	switch k {
	case fieldIdentifier:
		in.Identifier, err = d.string()
	case fieldTitle:
		in.Title, err = d.forPeople("title")
	case fieldSummary:
		in.Summary, err = d.forPeople("summary")
	case fieldCollections:
		err = d.array(func(i int) error {
			s, err := d.forPeople(fmt.Sprintf("collections[%d]", i))
			in.Collections = append(in.Collections, s)
			return err
		})
	case fieldModified:
		in.Modified, err = d.string()
	case fieldRepresentations:
		err = d.resources(model.Representation, &d.representations)
	case fieldFiles:
		err = d.resources(model.File, &d.files)
	case fieldLinks:
		err = d.array(d.link)
	case fieldDeleted:
		in.Deleted, err = d.boolean()
	case fieldSet:
		in.set, err = d.string()
	}
	return err
}

func (d *decoder) forPeople(field string) (string, error) {
	s, replaced, err := d.lenient()
	if replaced {
		d.in.replaced = append(d.in.replaced, field)
	}
	return s, err
}

func (d *decoder) link(i int) error {
	var l model.Link
	err := d.object(linkFields, func(k int) (err error) {
		switch k {
		case fieldRel:
			l.Rel, err = d.string()
		case fieldLinkHref:
			l.Href, err = d.string()
		case fieldLinkType:
			l.Type, err = d.string()
		case fieldLinkHreflang:
			l.Hreflang, err = d.string()
		case fieldLinkTitle:
			l.Title, err = d.forPeople(fmt.Sprintf("links[%d].title", i))
		}
		return err
	})
	d.in.Links = append(d.in.Links, l)
	return err
}

func (d *decoder) resources(role model.Role, to *parts) error {
	return d.array(func(int) error {
		r, src, err := d.resource(role)
		to.resources = append(to.resources, r)
		to.sources = append(to.sources, src)
		return err
	})
}

func (d *decoder) resource(role model.Role) (model.Resource, source, error) {
	r := model.Resource{Role: role}
	src := source{field: -1, declared: declared{length: -1}}
	err := d.object(resourceFields, func(k int) (err error) {
		switch k {
		case fieldName:
			r.Name, err = d.string()
		case fieldType:
			r.Type, err = d.string()
		case fieldProfile:
			r.Profile, err = d.string()
		case fieldHreflang:
			r.Hreflang, err = d.string()
		case fieldLength:
			src.declared.length, err = d.length()
		case fieldHashes:
			err = d.hashes(&src.declared)
		default:
			return d.content(k, &r, &src)
		}
		return err
	})
	if err == nil && src.field < 0 {
		err = &model.FieldError{Reason: "has no content: give it one of content, content_base64, content_file and href"}
	}
	return r, src, err
}

// content reads the value of a field that says where the content is.
func (d *decoder) content(k int, r *model.Resource, src *source) (err error) {
	if src.field >= 0 {
		return &model.FieldError{Reason: fmt.Sprintf("stands beside %s; the content comes from exactly one", resourceFields[src.field])}
	}
	src.field = k
	switch k {
	case fieldContent:
		if src.text, err = d.text(); err != nil {
			return err
		}
		if src.text.notUTF8 {
			return &model.FieldError{Reason: "is not UTF-8; other bytes come in as content_base64 or content_file"}
		}
		return src.text.whole()
	case fieldContentBase64:
		src.text, err = d.text()
	case fieldContentFile:
		src.file, err = d.string()
	case fieldContentSHA256:
		err = &model.FieldError{Reason: "naming content that was sent before is not offered by this version; give it as content, content_base64 or content_file"}
	case fieldHref:
		if r.Href, err = d.string(); err == nil && r.Href == "" {
			err = &model.FieldError{Reason: "is empty"}
		}
	}
	return err
}

func (d *decoder) hashes(to *declared) error {
	return d.object(hashFields, func(k int) (err error) {
		switch k {
		case fieldMD5:
			to.md5, err = d.hash(16)
		case fieldSHA1:
			to.sha1, err = d.hash(20)
		case fieldSHA256:
			to.sha256, err = d.hash(32)
		}
		return err
	})
}

func (d *decoder) hash(size int) ([]byte, error) {
	s, err := d.string()
	if err != nil {
		return nil, err
	}
	sum, err := hex.DecodeString(s)
	if err != nil || len(sum) != size {
		return nil, &model.FieldError{Reason: fmt.Sprintf("%s is not %d hexadecimal digits", shorten(s), 2*size)}
	}
	return sum, nil
}
