// Package faults is the fault matrix. For each fault of a list, several clients in processes of
// their own work steadily on five real masters, and the fault comes in the middle. The history of
// the run shows what must follow. No two clients held a lock at a time, and no update was lost.
// Operations were decided within their bound, and all went on again. Nothing is left behind.
//
// The table at the end of a run also says which rows did not run, and why. docs/project/faults.md
// explains the rows and keeps such a table.
//
// The soak mixes the faults at random over all kinds of locks.
//
// Environment variables, beside those of package integration:
//
//	REDQUORUM_FAULTS_DOC    1: writes the table into docs/project/faults.md
//	REDQUORUM_FAULTS_LONG   1: the rows about load run for as long as their text says
//	REDQUORUM_SOAK          how long the soak runs, such as 10m (12 s)
//	REDQUORUM_SOAK_SEED     its seed (a random one, which it prints)
package faults
