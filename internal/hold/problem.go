package hold

import "github.com/redquorum/redquorum/internal/quorum"

// A Problem says why a handle could not do what it was asked for. One field is set.
type Problem struct {
	Unlocked bool            // the handle was unlocked before
	Loss     *Loss           // the hold was lost
	Shared   int             // how many other handles share the hold
	Failure  *quorum.Failure // too few masters agreed; the hold is still held
	Over     error           // the context had ended: no master was asked
}
