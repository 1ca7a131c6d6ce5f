// Package mutants shows that the proof would find the mistakes that it is there
// to find. Each is a line that the library gets wrong with the build tag mutants
// (see internal/mutant), or a setting that leaves a precaution out. With it a
// violation of the right kind is found within a budget of seeds; without any, the
// whole budget finds none.
package mutants
