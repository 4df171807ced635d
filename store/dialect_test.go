package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

func TestVerdict(t *testing.T) {
	number := func(n uint16) error { return fmt.Errorf("commit: %w", &mysql.MySQLError{Number: n}) }
	for _, test := range []struct {
		err  error
		want verdict
	}{
		{number(1213), busy}, {number(1205), busy}, {number(1047), busy},
		{number(1062), conflict},
		{number(2006), lost}, {number(2013), lost}, {number(1927), lost}, {mysql.ErrInvalidConn, lost},
		{driver.ErrBadConn, lost}, {io.EOF, lost}, {&net.OpError{Op: "read", Err: errors.New("reset")}, lost},
		{number(1146), final}, {errNothing, final}, {context.Canceled, final}, {context.DeadlineExceeded, final},
	} {
		if got := (mysqlDialect{}).verdict(test.err); got != test.want {
			t.Errorf("%v: verdict %d, want %d", test.err, got, test.want)
		}
	}
}

func TestParseMySQL(t *testing.T) {
	for url, want := range map[string]string{
		"mysql://ann:s3%3Acret@db.example:3307/gateway": "ann:s3:cret@tcp(db.example:3307)/gateway",
		"mysql://ann@db.example/gateway":                "ann@tcp(db.example:3306)/gateway",
		"mysql://ann@[::1]/gateway":                     "ann@tcp([::1]:3306)/gateway",
	} {
		d, err := parseMySQL(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := d.config.FormatDSN(); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %s, want %s", url, got, want)
		}
	}
	for _, url := range []string{"mysql://ann:s3cret@/gateway", "mysql://ann:s3cret@db.example", "mysql://ann:s3cret@db.example:port/x", "postgres://ann:s3cret@h/x"} {
		if _, err := parseMySQL(url); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error %v", url, err)
		}
	}
}
