package model

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound: there is no such set, record, resource or document.
	ErrNotFound = errors.New("not found")
	// ErrGone: there was one, and it was deleted or its epoch is over.
	ErrGone = errors.New("gone")
	// ErrExists: the name is taken.
	ErrExists = errors.New("exists already")
	// ErrPrecondition: the record or set is not in the state the caller wants.
	ErrPrecondition = errors.New("precondition failed")
	// ErrNotReady: the answer cannot be given truthfully now; ask again later.
	ErrNotReady = errors.New("not ready")
	// ErrHeadMoved: another publisher was faster; what was prepared is garbage.
	ErrHeadMoved = errors.New("another publisher was faster")
)

// FieldError is a mistake in one field of an input, for the one who sent it.
type FieldError struct {
	Field  string // as a path: "representations[1].type"
	Reason string
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + ": " + e.Reason
}

func fieldErrorf(field, format string, args ...any) error {
	return &FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
