// Command testreport reads what `go test -json` prints and shows of it what a
// person wants to see: the closing line of every package as it comes, all that
// a failed package printed about its failures, and at the end which tests were
// skipped and why. Go shows the reason of a skip only under -v, where it
// drowns.
//
//	go test -json ./... | testreport -closing FILE -skipped FILE
//
// The two files are appended to: one gets the closing lines, byte for byte as
// the go command printed them, the other a line for every reason of a skip, so
// that a run over several modules can end with both together.
//
// It reads until its input ends and exits 0 also when tests failed: that is for
// go test's own exit code to say. It exits 1 when it cannot write, 2 on usage.
package main
