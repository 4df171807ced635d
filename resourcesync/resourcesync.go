// Package resourcesync publishes sets by ResourceSync 1.1 (ANSI/NISO
// Z39.99-2017): a Capability List, a Resource List and Change Lists each, and
// the dumps of both.
// docs/format/resourcesync.md shows the documents. What holds:
//
//   - A Resource List is the state at one position of the log and says so by
//     at: every change later than at is in the Change Lists, none earlier is
//     missing from the list. Its parts and their index are of one snapshot,
//     have that snapshot's number in their URLs and never change.
//   - Change Lists tile the time from the set's creation on, or from its
//     epoch's: each begins where the one before it ends, no change lies on a
//     boundary, and exactly one, the last, is open. A closed list never changes.
//     The Change List Index is an index from the beginning on.
//   - Folding a Resource List with the later entries of the Change Lists gives
//     the set as it is, and so does folding all Change Lists.
//   - A Resource Dump is the same snapshot as the Resource List, with contents; a
//     Change Dump has a package for each closed Change List, with the content
//     after each change. Of a package only the manifest is stored: its length
//     and validator are known when it is published, and its bytes are made as
//     they are sent, from any byte on.
//   - Entries are of resources, one for each that a change created, updated or
//     deleted. A change of the record alone has none. External resources
//     (policy link) are not resources of the set and have none.
//   - Every document is a function of the log and of a [model.View]: no clock is
//     read, the same arguments give the same bytes.
//
// [Renderer] makes what is stored, [Handler] serves it and renders what still
// moves. The paths are in paths.go and dumppaths.go.
package resourcesync

// Name keys the published position of the package's [Renderer], and never
// changes.
const Name = "resourcesync-1.1"

// version is raised when the bytes of rendered documents change, because their
// entity tags depend on it.
const version = 1
