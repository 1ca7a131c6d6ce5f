// Command release does the parts of a release that a shell cannot do well.
// scripts/release.sh calls it; docs/project/releasing.md says how a release is made.
//
//	release next                  the version of the newest section of CHANGELOG.md
//	release modules               the directories of the modules that users import
//	release check                 whether their go.mod files can be published
//	release prepare VERSION DATE  write VERSION into CHANGELOG.md, go.mod and go.sum files
//	release notes VERSION         print the section of CHANGELOG.md
//	release pack VERSION DIR      pack the tagged modules as a module proxy serves them
//
// It works on the git repository at whose top it is called. prepare changes the
// named files and stages what is tracked; nothing here commits or tags. It exits 1
// on a failure, 2 on usage.
package main
