// Package command tests the programs as people and scripts use them. Each file in testdata is a
// script: go doc github.com/rogpeppe/go-internal/testscript describes such scripts, and
// commands_test.go the commands that are added here. It is a module of its own, so that tests
// of the library need not fetch testscript.
package command
