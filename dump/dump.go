// Package dump makes and reads the ZIP packages of Resource Dumps and Change
// Dumps (ResourceSync 1.1 §11, §13). What holds:
//
//   - A package is never materialised. Its size and every byte that is not
//     content follow from an [Index] of its members: their names, checksums,
//     lengths and times. So a [Package] has its length, its validator and its
//     first byte before any content was read, and resumes at any byte.
//   - The same index gives the same bytes for ever. The arrangement has a
//     version, and each version stays implemented: a new one adds a case. The
//     index says nothing of where content is kept, which may change while a
//     package is being sent.
//   - Content goes into a package in its kept form, as it is or deflated,
//     without a second look: kept content, one member after the other, with a
//     header before each, is the package. [Runs] joins the places where it
//     lies, so that content lying together is read together.
//   - A package whose content cannot be had whole fails; nothing is padded.
//   - The first member is manifest.xml, which [Manifest] writes; the others
//     have paths that are safe on every file system ([AppendResourcePath],
//     [AppendChangePath]).
//
// The other direction trusts nobody: [Open] accepts a package, ours or a
// stranger's, only when all its structures agree with each other and with
// [Limits], and [Reader.Verify] holds its manifest against its members.
//
// docs/format/packages.md draws a package byte by byte.
package dump

// MediaType is the Content-Type of a package.
const MediaType = "application/zip"

// Version is the arrangement that new packages get.
const Version = 1

// ManifestName is the member that lists the others (ResourceSync 1.1 §11.2).
const ManifestName = "manifest.xml"
