package store

import "context"

// Problem is a damage that Check found.
type Problem struct {
	Set   string // its name; "" for the store as a whole
	Where string // "change 17", "segment 3", "document /rs/…"
	What  string
}

// Check is the inner check.
func (s *Store) Check(ctx context.Context, report func(Problem)) error { return nil }
