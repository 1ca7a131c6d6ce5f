// Package mutants shows that the proof finds the mistakes that it is there to find. A mutant is
// the library with one mistake. Either the go command's -overlay replaces some files by edited
// ones, so that the library's source has no trace of it, or a setting leaves a precaution out.
// The list names what has to find each: a profile of the simulation, within a budget of seeds,
// or a test of the module. The unchanged library passes the same.
//
// To add one, add an entry to a list. That is list_test.go if the simulation finds it or could.
// The others are listguard_test.go (which masters vote), listwaiting_test.go (waiters, and
// reports) and their like:
//
//	{
//		name:    "quorum of half the masters",
//		breaks:  "S1: any two quorums share a master",
//		edits:   []edit{{"internal/quorum/quorum.go", "return n/2 + 1", "return n / 2"}},
//		foundBy: simulation{"edges", history.Overlap, 10},
//	},
//
// or, if a test finds it,
//
//	foundBy: goTest{"./internal/quorum", "TestNeed"},
//
// (and also: simulation{…} if that finds it, too)
//
// and run
//
//	cd test/proof && go test ./mutants -v -only half
//
// Before you remove a test, make mutants ROOM=ballot shows which tests find the mutants of a
// room: the first of its own, and the first of redlock's.
//
// A mutant fails the test if it survives or does not compile. It also fails if an edit changes
// no code, or if its old text is not there exactly once. A mistake that takes code of its own
// has a file in testdata.
package mutants
