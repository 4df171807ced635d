// Package arch holds the picture of who imports whom, as a test. It has no code
// of its own.
//
// The picture is the table in picture_test.go: what stands there is allowed, all
// else fails. A new arrow is a line in that table, and its reason belongs in
// docs/design/. Beside the arrows the test holds what a reader relies on
// everywhere: every package says in its comment what it promises, nothing runs
// before main, and no package-level variable changes.
package arch
