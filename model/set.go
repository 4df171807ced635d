package model

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Author is who the feeds of a set name as their author (RFC 4287 §4.2.1).
type Author struct {
	Name  string `json:"name"`
	Email string `json:"email,omitempty"`
	URI   string `json:"uri,omitempty"`
}

// Set is a set of records with one log and one policy.
type Set struct {
	ID          SetID  `json:"-"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	// DescribedBy is the URI of a description of the set (ResourceSync 1.1 §8).
	DescribedBy string `json:"describedby,omitempty"`
	Author      Author `json:"author"`
	Private     bool   `json:"private"`
	Policy      Policy `json:"policy"`
	// FeedID and CompleteID are the atom:id of its feed and of its complete
	// feed, minted when the set is created and never changed.
	FeedID     string `json:"-"`
	CompleteID string `json:"-"`
	Created    Time   `json:"-"`
	// Modified is when its description or policy last changed.
	Modified Time `json:"-"`
}

// Values of [Policy.External]: what is done with content given by href.
const (
	ExternalLink   = "link"   // a link on the record's entries, no resource of the set
	ExternalReject = "reject" // the record is rejected
)

// Values of [Policy.Changelist].
const ChangelistIndex = "index" // changelist.xml is an index from the first change on

// Capability tokens a set can offer (ResourceSync 1.1 §7).
const (
	CapabilityResourceList = "resourcelist"
	CapabilityResourceDump = "resourcedump"
	CapabilityChangeList   = "changelist"
	CapabilityChangeDump   = "changedump"
)

// Capabilities are the tokens that are known, in the order of ResourceSync 1.1.
func Capabilities() []string {
	return []string{CapabilityResourceList, CapabilityResourceDump, CapabilityChangeList, CapabilityChangeDump}
}

// Duration is a time.Duration that reads and writes as "24h0m0s".
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes d as a Go duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a Go duration.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// Policy says how a set is cut, published and kept. [DefaultPolicy] has the
// defaults.
type Policy struct {
	SegmentSize      int      `json:"segment_size"`      // changes in a segment, 1–25,000; applies from the next segment on
	SegmentAge       Duration `json:"segment_age"`       // a tail older than this is cut; 0 is off
	SnapshotInterval Duration `json:"snapshot_interval"` // a snapshot is due after a change and this time; 0 is off
	SnapshotChanges  int      `json:"snapshot_changes"`  // … or after max(this, 5 % of the resources) changes; 0 is off
	SnapshotKeep     Duration `json:"snapshot_keep"`     // how long a superseded snapshot stays
	PackageSize      int64    `json:"package_size"`      // bytes of a dump package
	External         string   `json:"external"`
	Changelist       string   `json:"changelist"`
	CompleteLimit    int      `json:"complete_limit"` // live records up to which there is a complete feed; 0 is never
	Capabilities     []string `json:"capabilities"`   // offered in the Capability List
}

// DefaultPolicy is the policy of a set that asks for nothing else.
func DefaultPolicy() Policy {
	return Policy{
		SegmentSize:      1_000,
		SegmentAge:       Duration(24 * time.Hour),
		SnapshotInterval: Duration(time.Hour),
		SnapshotChanges:  1_000,
		SnapshotKeep:     Duration(168 * time.Hour),
		PackageSize:      1 << 30,
		External:         ExternalLink,
		Changelist:       ChangelistIndex,
		CompleteLimit:    5_000,
		Capabilities:     Capabilities(),
	}
}

// Offers tells whether the set's Capability List names the token.
func (p *Policy) Offers(token string) bool { return slices.Contains(p.Capabilities, token) }

// Keys lists the names that Set takes, in the order of the contract.
func (Policy) Keys() []string {
	return []string{"segment_size", "segment_age", "snapshot_interval", "snapshot_changes", "snapshot_keep",
		"package_size", "external", "changelist", "complete_limit", "capabilities"}
}

// Set changes one value of the policy, given as text: a number, a Go duration, a
// word, or words separated by commas. The result is valid, or a [FieldError]
// names the key and p is as before.
func (p *Policy) Set(key, value string) error {
	next := *p
	var err error
	switch key {
	case "segment_size":
		next.SegmentSize, err = strconv.Atoi(value)
	case "segment_age":
		err = next.SegmentAge.UnmarshalText([]byte(value))
	case "snapshot_interval":
		err = next.SnapshotInterval.UnmarshalText([]byte(value))
	case "snapshot_changes":
		next.SnapshotChanges, err = strconv.Atoi(value)
	case "snapshot_keep":
		err = next.SnapshotKeep.UnmarshalText([]byte(value))
	case "package_size":
		next.PackageSize, err = strconv.ParseInt(value, 10, 64)
	case "external":
		next.External = value
	case "changelist":
		next.Changelist = value
	case "complete_limit":
		next.CompleteLimit, err = strconv.Atoi(value)
	case "capabilities":
		next.Capabilities = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	default:
		return fieldErrorf("policy."+key, "is no key of a policy; the keys are %s", strings.Join(p.Keys(), ", "))
	}
	if err != nil {
		return fieldErrorf("policy."+key, "%q is not a value it takes: want %s", value, policyShape(key))
	}
	if err := next.Validate(); err != nil {
		return err
	}
	*p = next
	return nil
}

func policyShape(key string) string {
	switch key {
	case "segment_age", "snapshot_interval", "snapshot_keep":
		return `a duration like "24h" or "30m"`
	case "package_size":
		return "a number of bytes"
	}
	return "a number"
}

// Validate checks p. What a later version brings is refused by name.
func (p *Policy) Validate() error {
	switch {
	case p.SegmentSize < 1 || p.SegmentSize > 25_000:
		return fieldErrorf("policy.segment_size", "is %d; want 1 to 25,000 changes", p.SegmentSize)
	case p.SegmentAge < 0:
		return fieldErrorf("policy.segment_age", "is negative; 0s switches it off")
	case p.SnapshotInterval < 0:
		return fieldErrorf("policy.snapshot_interval", "is negative; 0s switches it off")
	case p.SnapshotChanges < 0:
		return fieldErrorf("policy.snapshot_changes", "is negative; 0 switches it off")
	case p.SnapshotKeep < 0:
		return fieldErrorf("policy.snapshot_keep", "is negative")
	case p.PackageSize < 1<<20:
		return fieldErrorf("policy.package_size", "is %d; want at least 1,048,576 bytes", p.PackageSize)
	case p.CompleteLimit < 0 || p.CompleteLimit > 50_000:
		return fieldErrorf("policy.complete_limit", "is %d; want 0 to 50,000 records", p.CompleteLimit)
	}
	switch p.External {
	case ExternalLink, ExternalReject:
	case "list", "cache":
		return fieldErrorf("policy.external", "%q is not offered by this version; it knows link and reject", p.External)
	default:
		return fieldErrorf("policy.external", "%q is unknown; want link or reject", p.External)
	}
	switch p.Changelist {
	case ChangelistIndex:
	case "recent":
		return fieldErrorf("policy.changelist", `"recent" is not offered by this version; it knows index`)
	default:
		return fieldErrorf("policy.changelist", "%q is unknown; want index", p.Changelist)
	}
	for i, token := range p.Capabilities {
		if known := Capabilities(); !slices.Contains(known, token) {
			return fieldErrorf("policy.capabilities", "%q is unknown; want %s", token, strings.Join(known, ", "))
		}
		if slices.Contains(p.Capabilities[:i], token) {
			return fieldErrorf("policy.capabilities", "%s is named twice", token)
		}
	}
	return nil
}

// MarshalPolicy is p as the store keeps it.
func MarshalPolicy(p Policy) (string, error) {
	b, err := json.Marshal(p)
	return string(b), err
}

// ParsePolicy reads what MarshalPolicy wrote. Keys it lacks have their defaults,
// so that a policy stored by an earlier version stays readable.
func ParsePolicy(s string) (Policy, error) {
	p := DefaultPolicy()
	err := json.Unmarshal([]byte(s), &p)
	return p, err
}

// ValidSetName tells whether s is 1–64 of a-z 0-9 - _.
func ValidSetName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// Validate checks what people may set of s.
func (s *Set) Validate() error {
	if !ValidSetName(s.Name) {
		return fieldErrorf("name", "%q is not a set's name; want 1 to 64 of a-z 0-9 - _", truncate(s.Name))
	}
	for _, f := range []struct {
		field, value string
		most         int
	}{
		{"title", s.Title, maxTitle}, {"description", s.Description, maxSummary}, {"describedby", s.DescribedBy, maxURI},
		{"author.name", s.Author.Name, maxTitle}, {"author.email", s.Author.Email, 320}, {"author.uri", s.Author.URI, maxURI},
	} {
		if err := checkText(f.field, f.value, f.most); err != nil {
			return err
		}
	}
	if s.Author.Email != "" && (!strings.Contains(strings.Trim(s.Author.Email, "@"), "@") || strings.ContainsAny(s.Author.Email, " \t\n")) {
		return fieldErrorf("author.email", "%q is not an email address", truncate(s.Author.Email))
	}
	if s.DescribedBy != "" {
		if err := checkURI("describedby", s.DescribedBy); err != nil {
			return err
		}
	}
	if s.Author.URI != "" {
		if err := checkURI("author.uri", s.Author.URI); err != nil {
			return err
		}
	}
	if s.Private {
		return fieldErrorf("private", "private sets are not offered by this version")
	}
	return s.Policy.Validate()
}

// FeedAuthor is the author that the feeds of s name: its own, or its title,
// because RFC 4287 §4.1.1 wants one.
func (s *Set) FeedAuthor() Author {
	if s.Author.Name != "" {
		return s.Author
	}
	return Author{Name: s.DisplayTitle(), Email: s.Author.Email, URI: s.Author.URI}
}

// Token is the part of s that is minted once, in the characters of an entity tag:
// a set of the same name that is created anew, in another store too, has another
// one, and numbers that begin again do not make equal tags.
func (s *Set) Token() string { return s.FeedID[strings.LastIndexAny(s.FeedID, ":-")+1:] }

// DisplayTitle is the title of s, or its name when it has none.
func (s *Set) DisplayTitle() string {
	if s.Title != "" {
		return s.Title
	}
	return s.Name
}
