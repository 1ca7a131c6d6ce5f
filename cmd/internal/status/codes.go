package status

import (
	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/redlock"
)

var verdictCodes = map[redlock.Verdict]int{
	redlock.VerdictFree:    app.ExitOK,
	redlock.VerdictHeld:    app.ExitOK,
	redlock.VerdictSplit:   app.ExitFailed,
	redlock.VerdictPartial: app.ExitFailed,
	redlock.VerdictUnknown: app.ExitNoQuorum,
}
