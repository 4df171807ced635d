package model

// Packer is the name of the position up to which the content of segments was
// packed, among those of renderers.
const Packer = "packs"

// Loose is content of a cut segment that lies in the database.
type Loose struct {
	Segment SegmentNumber
	Key     ContentKey
	Kept    []byte // valid until the next step of the iteration
}

// Pack is an object that content was copied to, one after the other from its
// first byte on, and which shall become the place where that content lies.
type Pack struct {
	Set SetID
	// Holder must hold the set's publishing lease, or the error is
	// [ErrHeadMoved]; "" asks for no lease.
	Holder string
	// Object is the key of the object; "" when there is no content.
	Object   string
	Contents []Packed // in the order of the object
	// Until is how long the object is safe from collection without a
	// reference; after that it is not taken, with [ErrHeadMoved].
	Until Time
	// A pack of the log holds what was loose in the segments after From up to
	// To, and is taken only if packing stands at From, else [ErrHeadMoved]. To
	// is 0 in a pack that content of other packs was copied to.
	From, To SegmentNumber
	// Release gives the lease back in the same transaction.
	Release bool
}

// Packed is content in a pack.
type Packed struct {
	Key    ContentKey
	Stored int64
	Sum    uint32 // CRC-32 (IEEE) of the kept bytes
}
