package store

import (
	"fmt"
	"strings"
)

// maxStatement is how many bytes of values a statement takes at most before the
// next row. MySQL's protocol doubles bytes that it must escape, and servers
// accept 16 MiB by default.
const maxStatement = 1 << 20

// inserter collects rows of one table for multi-row INSERTs.
type inserter struct {
	t       *tx
	table   string
	columns []string
	suffix  string // what follows the rows: what to do about existing ones
	most    int    // rows of one statement
	full    string // the statement with that many
	args    []any
	rows    int
	bytes   int
}

func (t *tx) inserter(table string, columns ...string) inserter {
	return inserter{t: t, table: table, columns: columns, most: max(1, t.s.dialect.parameters()/len(columns))}
}

// add takes a row whose blobs have the given size together.
func (i *inserter) add(size int, values ...any) error {
	if i.rows > 0 && i.bytes+size > maxStatement {
		if err := i.flush(); err != nil {
			return err
		}
	}
	i.args = append(i.args, values...)
	i.rows++
	i.bytes += size
	if i.rows < i.most {
		return nil
	}
	return i.flush()
}

func (i *inserter) flush() error {
	if i.rows == 0 {
		return nil
	}
	query := i.full
	if i.rows != i.most || query == "" {
		row := ", (" + strings.Repeat(", ?", len(i.columns))[2:] + ")"
		query = i.t.s.dialect.insert() + i.table + " (" + strings.Join(i.columns, ", ") + ") VALUES " +
			strings.Repeat(row, i.rows)[2:] + i.suffix
		if i.rows == i.most {
			i.full = query
		}
	}
	_, err := i.t.sql.ExecContext(i.t.ctx, query, i.args...)
	clear(i.args)
	i.args, i.rows, i.bytes = i.args[:0], 0, 0
	if err != nil {
		return fmt.Errorf("write %s: %w", i.table, err)
	}
	return nil
}
