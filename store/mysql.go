package store

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// mysqlConnections bounds the pool, so that ten replicas stay below the usual
// limit of 151 connections of a server.
const mysqlConnections = 12

// openFor is how long the first connection is tried: somebody waits to be told
// what is wrong. Connections that are lost later are tried for longer.
const openFor = 3 * time.Second

type mysqlDialect struct{ config *driver.Config }

// parseMySQL reads "mysql://user:pass@host:3306/name". Its error does not repeat
// the URL, which holds a password.
func parseMySQL(database string) (mysqlDialect, error) {
	u, err := url.Parse(database)
	if err != nil || u.Scheme != "mysql" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return mysqlDialect{}, errors.New("database: want mysql://user:pass@host:3306/name")
	}
	c := driver.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr = "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "3306"))
	c.DBName = strings.Trim(u.Path, "/")
	c.InterpolateParams = true // a multi-row statement in one round trip
	c.MaxAllowedPacket = 0     // ask the server
	c.Timeout = 10 * time.Second
	if tls := u.Query().Get("tls"); tls != "" {
		c.TLSConfig = tls
	}
	// The driver's own log would repeat errors that are retried or returned.
	c.Logger = &driver.NopLogger{}
	return mysqlDialect{c}, nil
}

func (d mysqlDialect) open(ctx context.Context, config *gorm.Config) (writer, reader *gorm.DB, err error) {
	connector, err := driver.NewConnector(d.config)
	if err != nil {
		return nil, nil, err
	}
	var db *gorm.DB
	err = retryingFor(ctx, d, openFor, func() (err error) {
		pool := sql.OpenDB(session{connector}) // of each attempt: GORM closes it when it fails
		pool.SetMaxOpenConns(mysqlConnections)
		pool.SetMaxIdleConns(mysqlConnections)
		pool.SetConnMaxIdleTime(5 * time.Minute)
		if db, err = gorm.Open(mysql.New(mysql.Config{Conn: pool}), config); err != nil {
			pool.Close()
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("open database %s at %s: %w", d.config.DBName, d.config.Addr, err)
	}
	return db, db, nil
}

// session gives every new connection the settings that the store relies on:
// READ COMMITTED, so that a statement sees what was committed before it and
// nothing locks gaps; UTC; and errors instead of silent cutting of values. On
// Galera reads are causal, so that a replica does not deny what another has
// acknowledged.
type session struct{ sqldriver.Connector }

func (s session) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
		"SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
		"SET SESSION wsrep_sync_wait = 1",
	} {
		_, err := conn.(sqldriver.ExecerContext).ExecContext(ctx, statement, nil)
		if e := (*driver.MySQLError)(nil); errors.As(err, &e) && e.Number == errUnknownVariable {
			continue // a server built without Galera
		}
		if err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

func (mysqlDialect) create(t table) []string {
	word := func(kind, size string) string {
		switch kind {
		case "text", "bytes": // VARBINARY compares byte by byte; collations equate "a" and "a "
			return "VARBINARY(" + size + ")"
		case "blob":
			return "LONGBLOB"
		case "tiny":
			return "TINYINT"
		}
		return "BIGINT"
	}
	var indexes []string
	for _, x := range t.indexes {
		word := "KEY"
		if x.unique {
			word = "UNIQUE KEY"
		}
		indexes = append(indexes, fmt.Sprintf("%s %s (%s)", word, x.name, x.columns))
	}
	return []string{createTable(t, word, indexes, "ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary")}
}

func (mysqlDialect) clock() string { return "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)" }

func (mysqlDialect) forUpdate() string { return " FOR UPDATE" }

func (mysqlDialect) insert() string { return "INSERT INTO " }

func (mysqlDialect) upsert(_ string, columns ...string) string {
	for i, c := range columns {
		columns[i] = c + "=VALUES(" + c + ")"
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(columns, ", ")
}

func (mysqlDialect) parameters() int { return 4000 }

func (mysqlDialect) pause() time.Duration { return 0 } // row locks are given in the order they were asked for

// shrink: InnoDB uses freed pages again.
func (mysqlDialect) shrink(context.Context, *gorm.DB) error { return nil }

// Error numbers of MySQL and its relatives.
const (
	errDuplicate       = 1062
	errUnknownVariable = 1193
)

func (mysqlDialect) verdict(err error) verdict {
	var e *driver.MySQLError
	if !errors.As(err, &e) {
		if errors.Is(err, driver.ErrInvalidConn) {
			return lost
		}
		return verdictOf(err)
	}
	switch e.Number {
	case errDuplicate:
		return conflict
	case 1213, 1205, 1020, // deadlock, lock wait time-out, row changed since it was read
		1040, 1047, // too many connections, Galera node not ready
		9007, 8002: // TiDB: write conflict
		return busy
	case 1053, 1927, 2006, 2013: // shutdown, killed, gone away, lost
		return lost
	}
	return final
}
