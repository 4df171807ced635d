//go:build race

package storetest

// stride makes the long loops shorter where the race detector watches each step
// of SQLite, which is Go here, and takes twenty times as long.
const stride = 13
