package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"gateway/store"
	"gateway/store/storetest"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Database {
		dir := memoryDir(t)
		db, err := sql.Open("sqlite", filepath.Join(dir, "gateway.db")+"?_pragma=busy_timeout(10000)")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return storetest.Database{Config: store.Config{Dir: dir}, SQL: db}
	})
}

// memoryDir is a directory in memory where there is one: no test here pulls the
// plug, and thousands of transactions that wait for a disk take long.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "gateway-store-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
