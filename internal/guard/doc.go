// Package guard decides which masters may vote. It says why the others may not, and
// until when.
//
// Redlock's promise depends on masters that do not forget (assumption T0). A master
// forgets if it is restarted, emptied, replaced by a replica, or may evict keys. It also
// forgets if it takes its data from a replica that lags. So each master has a marker
// ([Key]), a hash beside the locks. The marker names the master's process, the history
// of its data, and since when it remembers. A master votes only when its marker is older
// than any lock that it may have forgotten. Until then it is in quarantine
// ([Config.Quarantine]): clients still write to it, but its OK does not count, neither
// for acquiring, extending or verifying a lock nor for raising a fencing token.
//
// Except for the scripts, everything here is a pure function of what all masters say
// about themselves ([Facts]). It sends nothing, does not block, reads no clock, and may
// be called concurrently. All masters are judged together, because only then the guard
// sees that two of them are one server.
package guard
