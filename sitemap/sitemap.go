// Package sitemap writes Sitemap documents with the ResourceSync elements rs:md
// and rs:ln (ResourceSync 1.1 §7). What holds:
//
//   - A document is [Form.AppendRoot], then [Form.AppendEntry] for each item,
//     then [Form.AppendEnd]. Each appends to a byte slice, which the caller may
//     write out and reuse between any two calls: memory does not grow with the
//     document.
//   - Nothing is allocated but for the slice itself.
//   - The result is well-formed XML 1.0 in UTF-8 whatever the strings hold.
//     Texts come back from any XML parser as they were, save that what XML 1.0
//     cannot carry (§2.2), and bytes that are not UTF-8, become U+FFFD. That is a
//     last defence: such characters are dealt with when records come in.
//   - The same arguments give the same bytes. One line holds one entry.
//
// Elements stand in the order of sitemap.xsd: rs:ln and rs:md before the first
// entry, and in an entry after loc, lastmod and changefreq.
//
// The package knows elements and attributes, not which of them a document must
// have: that belongs to the protocols, so that dialects of ResourceSync and
// manifests of dumps share it. Reading is not its matter.
package sitemap

// MediaType is the Content-Type of the documents.
const MediaType = "application/xml"

// Form is the kind of a document by its root element.
type Form uint8

const (
	// List is a urlset: its entries are url elements.
	List Form = iota
	// Index is a sitemapindex: its entries are sitemap elements.
	Index
)

// Root is what a document says about itself.
type Root struct {
	Links []Link
	MD    MD
	// Plain leaves Links and MD out, and the namespace of ResourceSync with
	// them: a document for search engines.
	Plain bool
}

// Entry is one url or sitemap element.
type Entry struct {
	Loc     []byte // an absolute URI
	LastMod []byte // a time
	// ChangeFreq is always, hourly, daily, weekly, monthly, yearly or never.
	ChangeFreq string
	MD         MD
	Links      []Link
}

// MD is an rs:md element. What is empty or nil is left out; with nothing set
// there is no element. Times are complete W3C datetimes in UTC, already text.
type MD struct {
	Capability                 string
	At, Completed, From, Until []byte
	Change                     string // created, updated or deleted
	DateTime                   []byte // of the change
	Sums                       Sums
	Type                       string // media type
	Encoding                   string // Content-Encoding
	Path                       []byte // in a package, with leading slash
}

// Link is an rs:ln element.
type Link struct {
	Rel      string // registered, or an absolute URI
	Href     []byte
	Pri      int // 1–999999, lower is better; 0 is none
	Modified []byte
	Sums     Sums
	Type     string
	Encoding string
	Path     []byte
}

// Sums describe a bitstream; what is nil is not said. They are pointers because
// a length of 0 says something.
type Sums struct {
	MD5    *[16]byte
	SHA256 *[32]byte
	Length *int64
}
