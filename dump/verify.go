package dump

import (
	"bufio"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"

	"gateway/sitemap"
)

// Open begins to read the content of m. What it yields before [io.EOF] is not
// yet trustworthy: instead of EOF there is a [*Refusal] when length, CRC-32 or
// one of the sums that are given is another than said, and never more bytes
// than said. The caller closes it.
func (m *Member) Open(sums sitemap.Sums) io.ReadCloser {
	c := &checked{member: m, left: m.Length, crc: crc32.NewIEEE(), sums: sums}
	c.unpacker = unpackers.Get().(*unpacker)
	c.stored.Reset(io.NewSectionReader(m.r, m.data, m.stored))
	c.content = c.stored
	if m.method == methodDeflate {
		// Reset without a dictionary returns no error.
		_ = c.inflate.(flate.Resetter).Reset(c.stored, nil)
		c.content = c.inflate
	}
	if sums.MD5 != nil {
		c.md5 = md5.New()
	}
	if sums.SHA256 != nil {
		c.sha256 = sha256.New()
	}
	return c
}

// unpacker is what takes memory in reading a member.
type unpacker struct {
	stored  *bufio.Reader // flate reads from it no byte too many
	inflate io.ReadCloser
}

var unpackers = sync.Pool{New: func() any {
	return &unpacker{stored: bufio.NewReaderSize(nil, 32<<10), inflate: flate.NewReader(nil)}
}}

// checked is the content of a member with the checks on its way.
type checked struct {
	member      *Member
	*unpacker   // nil after Close
	content     io.Reader
	left        int64 // that may still come
	crc         hash.Hash32
	md5, sha256 hash.Hash // nil: not asked for
	sums        sitemap.Sums
	err         error // once there was one, or io.EOF
}

func (c *checked) Read(b []byte) (int, error) {
	if c.err != nil || len(b) == 0 {
		return 0, c.err
	}
	if c.left == 0 {
		c.err = c.finish()
		return 0, c.err
	}
	n, err := c.content.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	c.crc.Write(b[:n])
	if c.md5 != nil {
		c.md5.Write(b[:n])
	}
	if c.sha256 != nil {
		c.sha256.Write(b[:n])
	}
	switch {
	case err == io.EOF && c.left > 0:
		c.err = refuse(c.member.Name, "it unpacks to %d bytes fewer than it says", c.left)
	case err != nil && err != io.EOF:
		c.err = c.broken(err)
	}
	return n, c.err
}

// broken tells a broken stream from a package that cannot be read.
func (c *checked) broken(err error) error {
	var corrupt flate.CorruptInputError
	var confused flate.InternalError // comes of broken data, too
	if errors.As(err, &corrupt) || errors.As(err, &confused) || err == io.ErrUnexpectedEOF {
		return refuse(c.member.Name, "its compressed data are broken")
	}
	return fmt.Errorf("read %q in a package: %w", c.member.Name, err)
}

// finish checks what can be known at the end: that the data end with the
// content, and the sums.
func (c *checked) finish() error {
	m := c.member
	var more [1]byte
	switch n, err := io.ReadFull(c.content, more[:]); {
	case n > 0:
		return refuse(m.Name, "it unpacks to more than the %d bytes it says", m.Length)
	case err != io.EOF:
		return c.broken(err)
	}
	if _, err := c.stored.ReadByte(); err != io.EOF {
		return refuse(m.Name, "something follows its compressed data")
	}
	switch {
	case c.crc.Sum32() != m.crc:
		return refuse(m.Name, "its CRC-32 is wrong")
	case c.sums.Length != nil && *c.sums.Length != m.Length:
		return refuse(m.Name, "it has %d bytes, the manifest says %d", m.Length, *c.sums.Length)
	case c.md5 != nil && [16]byte(c.md5.Sum(nil)) != *c.sums.MD5:
		return refuse(m.Name, "its MD5 is not what the manifest says")
	case c.sha256 != nil && [32]byte(c.sha256.Sum(nil)) != *c.sums.SHA256:
		return refuse(m.Name, "its SHA-256 is not what the manifest says")
	}
	return io.EOF
}

func (c *checked) Close() error {
	if c.unpacker != nil {
		c.stored.Reset(nil)
		unpackers.Put(c.unpacker)
		c.unpacker, c.err = nil, fs.ErrClosed
	}
	return nil
}

// Listed is an entry of a manifest that has content.
type Listed struct {
	Path string // with its leading slash
	Sums sitemap.Sums
}

// Verify holds a manifest against the package: each entry's path must be a
// member that no other entry has, with the length and the hashes listed, and
// each member must be listed (ResourceSync 1.1 §7, §11.2). Contents go to visit,
// in the order of the manifest, and are checked to their end even when visit
// leaves some unread; what it did with one is to be trusted only when Verify
// goes on to the next or returns nil. A nil visit only checks. Verify ends at
// the first error, also of visit or listed.
func (p *Reader) Verify(ctx context.Context, listed iter.Seq2[Listed, error], visit func(l Listed, content io.Reader) error) error {
	if err := p.verify(ctx, listed, visit); err != nil {
		return fmt.Errorf("verify a package: %w", err)
	}
	return nil
}

func (p *Reader) verify(ctx context.Context, listed iter.Seq2[Listed, error], visit func(l Listed, content io.Reader) error) error {
	seen := make([]bool, len(p.members))
	for l, err := range listed {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		i, err := p.listed(l, seen)
		if err != nil {
			return err
		}
		if err := p.members[i].visit(l, visit); err != nil {
			return err
		}
	}
	for i := range p.members {
		if m := &p.members[i]; !seen[i] && m.Name != ManifestName {
			return refuse(m.Name, "the manifest does not list it")
		}
	}
	return nil
}

// listed finds the member of an entry and marks it seen.
func (p *Reader) listed(l Listed, seen []bool) (int, error) {
	name, ok := strings.CutPrefix(l.Path, "/")
	if !ok {
		return 0, refuse("", "its manifest has the path %q, which does not begin with a slash", l.Path)
	}
	i, ok := p.byName[name]
	switch {
	case name == ManifestName:
		return 0, refuse(name, "the manifest lists itself")
	case !ok:
		return 0, refuse(name, "the manifest lists it, but it is not there")
	case seen[i]:
		return 0, refuse(name, "the manifest lists it twice")
	}
	seen[i] = true
	return i, nil
}

func (m *Member) visit(l Listed, visit func(l Listed, content io.Reader) error) error {
	if l.Sums.Length != nil && *l.Sums.Length != m.Length {
		return refuse(m.Name, "it has %d bytes, the manifest says %d", m.Length, *l.Sums.Length)
	}
	content := m.Open(l.Sums)
	defer content.Close()
	if visit != nil {
		if err := visit(l, content); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, content)
	return err
}
