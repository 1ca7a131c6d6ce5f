// Package command tests the programs as people and scripts use them. Each file in testdata is
// a script: go doc github.com/rogpeppe/go-internal/testscript says what such a script is, and
// commands_test.go what these may say besides. It is a module of its own, so that who tests the
// library need not fetch that.
package command
