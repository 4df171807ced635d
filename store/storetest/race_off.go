//go:build !race

package storetest

// stride is by how much the long loops go on: every position, every statement.
const stride = 1
