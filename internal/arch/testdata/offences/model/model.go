package model

import (
	"errors"
	"os"
	"sync"

	"github.com/google/uuid"
)

var (
	count int
	pool  sync.Pool
	table = map[string]int{}
)

func init() {
	count++
	table["a"] = 1
	_ = &table
	os.Exit(count)
}

// Errors are fine, and so are local variables with the name of a global one.
var errFine = errors.New("fine")

func fine() {
	table := uuid.New()
	table[0] = 1
}
