package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"time"

	"gorm.io/gorm"
)

// dialect is what differs between the databases.
type dialect interface {
	// open returns the pool for writing and the one for reading, which may be
	// the same.
	open(ctx context.Context, config *gorm.Config) (writer, reader *gorm.DB, err error)
	// create returns the statements that make t unless it exists.
	create(t table) []string
	// clock is an expression for the database's clock in microseconds, or "" when
	// it is the clock of this process.
	clock() string
	// forUpdate ends a SELECT that locks its rows until the transaction ends.
	forUpdate() string
	// insert begins an INSERT whose failure ends the transaction.
	insert() string
	// upsert ends an INSERT that sets the columns of a row whose key exists.
	upsert(key string, columns ...string) string
	// parameters is how many of them an INSERT of many rows should have.
	parameters() int
	// pause is how long a process rests at most between two writing transactions.
	pause() time.Duration
	// shrink gives some of the space that was freed back to the file system.
	shrink(ctx context.Context, writer *gorm.DB) error
	verdict(err error) verdict
}

// verdict says what an error means for the transaction it ended.
type verdict int

const (
	final    verdict = iota // repeating it would not help
	busy                    // rolled back in favour of others: repeat
	conflict                // a row that another transaction wrote: repeat a few times
	lost                    // the connection broke: repeat; of COMMIT: look whether it took effect
)

// verdictOf judges errors that come from the connection, not from the database.
func verdictOf(err error) verdict {
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return final
	case errors.Is(err, ErrLost), errors.Is(err, driver.ErrBadConn), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.As(err, &network):
		return lost
	}
	return final
}
