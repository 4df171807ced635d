// Package stray is nowhere in the picture.
package stray
