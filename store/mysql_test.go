package store_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"

	"gateway/store"
	"gateway/store/storetest"
)

func TestMySQL(t *testing.T) {
	t.Parallel()
	newMySQL(t) // skips without a server
	storetest.Run(t, func(t *testing.T) storetest.Database {
		config, db := newMySQL(t)
		return storetest.Database{Config: store.Config{Database: databaseURL(config)}, SQL: db}
	})
}

// newMySQL makes a database of its own on the server that GATEWAY_TEST_MYSQL
// names, and drops it after the test. Without a server the test is skipped, but
// fails where everything must be tested.
func newMySQL(t testing.TB) (*mysql.Config, *sql.DB) {
	t.Helper()
	dsn := os.Getenv("GATEWAY_TEST_MYSQL")
	if dsn == "" {
		dsn = "root@tcp(127.0.0.1:3306)/"
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatalf("GATEWAY_TEST_MYSQL: %v", err)
	}
	config.Logger = &mysql.NopLogger{}
	config.DBName = ""
	server, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	config.DBName = fmt.Sprintf("gateway_test_%d", rand.Uint64())
	if _, err := server.Exec("CREATE DATABASE " + config.DBName); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no MariaDB or MySQL to test with: %v", err)
		}
		t.Skipf("no MariaDB or MySQL to test with (GATEWAY_TEST_MYSQL names one): %v", err)
	}
	t.Cleanup(func() { server.Exec("DROP DATABASE " + config.DBName) })
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return config, db
}

func databaseURL(c *mysql.Config) string {
	u := url.URL{Scheme: "mysql", User: url.UserPassword(c.User, c.Passwd), Host: c.Addr, Path: "/" + c.DBName}
	return u.String()
}

// lockWaits is how many statements wait for a row of the database's meta table.
func lockWaits(t *testing.T, c *mysql.Config) (n int) {
	t.Helper()
	db, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.QueryRow("SELECT COUNT(*) FROM information_schema.processlist"+
		" WHERE db = ? AND id <> CONNECTION_ID() AND info LIKE '%meta%FOR UPDATE'", c.DBName).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
