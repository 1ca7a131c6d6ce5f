// Package pages compiles the Go code of the documentation. It is a module of its own: the pages
// use modules that the library does not need, and its tests need not fetch them. It also limits
// how much a reader of the code has to learn.
package pages
