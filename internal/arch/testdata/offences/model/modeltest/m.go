// Package modeltest is fine.
package modeltest

import _ "github.com/google/go-cmp/cmp"
