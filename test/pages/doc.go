// Package pages compiles the Go code of the documentation. It is a module of its own:
// the pages show what needs more than the library does, and whoever tests the library
// need not fetch that. It also holds bounds of what a reader of the code has to learn.
package pages
