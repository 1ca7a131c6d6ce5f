// Package mutants shows that the proof finds the mistakes that it is there to
// find. A mutant is the library with one mistake: some edits of its source, which
// the go command's -overlay puts in the place of the files, so that nothing of
// them stands in the library; or a setting that leaves a precaution out. Each has
// to be found by what the list names: a profile of the simulation, within a
// budget of seeds, or a test of the module. The library as it is passes the same.
//
// To add one, add an entry to a list. That is list_test.go if the simulation finds it
// or could. The others are listguard_test.go
// (who may vote), listwaiting_test.go (who waits, and what is told) and their like:
//
//	{
//		name:    "quorum of N/2",
//		breaks:  "S1: any two quorums share a master",
//		edits:   []edit{{"internal/quorum/quorum.go", "return n/2 + 1", "return n / 2"}},
//		foundBy: simulation{"edges", history.Overlap, 10},
//	},
//
// or, where a test finds it,
//
//	foundBy: goTest{"./internal/quorum", "TestNeed"},
//
// (and also: simulation{…} where that does, too)
//
// and run
//
//	cd test/proof && go test ./mutants -v -only N/2
//
// Before a test goes, make mutants ROOM=ballot shows which tests find the mutants of a
// room: the first of its own, and the first of redlock's.
//
// A mutant fails the test if it survives or does not compile. It also fails if an edit
// changes no code, or if its old text is not there exactly once. A mistake that takes
// code of its own has a file in testdata.
package mutants
