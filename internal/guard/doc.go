// Package guard decides which masters may vote, and says why the others may
// not and until when.
//
// Redlock's promise rests on masters that do not forget (assumption T0). A
// master that was restarted, emptied, replaced by a replica or that may evict
// keys forgets, and so does one that takes its data from a replica that lags; so
// each carries a marker, a hash beside the locks that names its process, the
// history of its data and since when it remembers ([Key]). A master votes only when
// its marker is older than every lock that it may have forgotten can be: the
// quarantine, [Config.Quarantine]. Until then it still gets what is written,
// but its OK counts for nothing: not for acquiring, extending, verifying or
// raising a fencing token.
//
// Everything here but the scripts is a pure function over what all masters
// say of themselves ([Facts]): nothing is sent, nothing blocks, no clock is
// read, and all of it may be called concurrently. All masters are judged
// together, because that two of them are one server shows only then.
package guard
