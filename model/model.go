// Package model holds what the gateway knows about records, free of any
// database, protocol or clock.
//
// A repository's records change. Each [Set] has one append-only log of
// [Change]s; everything the gateway publishes is a view of that log. What
// holds, in the order in which the rest relies on it:
//
//   - Positions of a set's log are 1, 2, 3, … without holes; times rise
//     strictly with them, in microseconds.
//   - A change is self-contained: it carries the full list of the record's
//     resources after it ([State]), what became of each in this change, and the
//     names it dropped. A page of the log renders in every protocol without
//     another read.
//   - [Compare] decides what a change is: equal states yield none; otherwise
//     one change per record and, per resource, created, updated, deleted or
//     same.
//   - A [Segment] is a run of changes that the log cut for everybody, and
//     [Cutter] decides where. No change lies on a segment's boundary time.
//   - A [Snapshot] is the state at one position. Lists and dumps publish its
//     parts.
//
// The package imports the standard library only and does no input or output.
package model

import (
	"strconv"
	"time"
)

// SetID is a set's key in the store, never shown outside.
type SetID int64

// Position is a change's place in its set's log: 1, 2, 3, …; 0 is before the
// first change.
type Position int64

// RecordNumber numbers the records of a set from 1 in order of first
// appearance. A record deleted and created again keeps its number.
type RecordNumber int64

// SegmentNumber numbers the segments of a set's log from 1; 0 is none.
type SegmentNumber int64

// SnapshotNumber numbers the snapshots of a set. Snapshot 0 is empty and as old
// as the set.
type SnapshotNumber int64

// EpochNumber numbers the publication epochs of a set from 1. It only rises.
type EpochNumber int64

// ContentKey names content within its set for good, wherever it is kept; 0 is
// none.
type ContentKey int64

// Time is an instant of the log: microseconds since 1970-01-01 UTC.
type Time int64

// timeLayout has six fraction digits always, so that printed times sort as text.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// TimeOf is t as log time, cut to the microsecond.
func TimeOf(t time.Time) Time { return Time(t.UnixMicro()) }

// Time is t as a time.Time in UTC.
func (t Time) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// String is t as a complete W3C datetime in UTC with six fraction digits
// (ResourceSync 1.1 §7, RFC 4287 §3.3).
func (t Time) String() string { return string(t.Append(nil)) }

// Append appends t as String prints it.
func (t Time) Append(b []byte) []byte {
	const perDay = 24 * 60 * 60 * 1_000_000
	days, rest := int64(t)/perDay, int64(t)%perDay
	if rest < 0 {
		days, rest = days-1, rest+perDay
	}
	year, month, day, ok := civil(days)
	if !ok {
		return t.Time().AppendFormat(b, timeLayout)
	}
	micro := rest % 1_000_000
	sec := rest / 1_000_000
	b = append(b, byte('0'+year/1000), byte('0'+year/100%10), byte('0'+year/10%10), byte('0'+year%10), '-')
	b = append2(b, month)
	b = append(b, '-')
	b = append2(b, day)
	b = append(b, 'T')
	b = append2(b, sec/3600)
	b = append(b, ':')
	b = append2(b, sec/60%60)
	b = append(b, ':')
	b = append2(b, sec%60)
	b = append(b, '.')
	b = append2(b, micro/10_000)
	b = append2(b, micro/100%100)
	b = append2(b, micro%100)
	return append(b, 'Z')
}

func append2(b []byte, n int64) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

// civil turns days since 1970-01-01 into a date of the Gregorian calendar; ok is
// false outside the years 0–9999, which the fast path does not print. It counts
// in years that begin in March, so that the leap day is the last.
func civil(days int64) (year, month, day int64, ok bool) {
	z := days + 719_468
	if z < 0 {
		return 0, 0, 0, false
	}
	era := z / 146_097
	doe := z % 146_097
	yoe := (doe - doe/1460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = doy - (153*mp+2)/5 + 1
	month = mp + 3
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day, year >= 0 && year <= 9999
}

// Kind says what a change did to a record, or to one of its resources.
type Kind uint8

const (
	// Same is the kind of a resource that a change of its record left alone.
	Same Kind = iota
	Created
	Updated
	Deleted
)

// String is the value of rs:md/@change (ResourceSync 1.1 §12.1), and "same".
func (k Kind) String() string {
	switch k {
	case Same:
		return "same"
	case Created:
		return "created"
	case Updated:
		return "updated"
	case Deleted:
		return "deleted"
	}
	return "kind " + strconv.Itoa(int(k))
}
