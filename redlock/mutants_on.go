//go:build mutants

package redlock

import (
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/script"
)

// Mistakes that take more than a line; see internal/mutant.

var shorteningExtend = script.New("extend", strings.Replace(script.Extend.Source,
	"redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2])", "true", 1))

var raiseByOwner = script.New("raise", strings.Replace(script.Raise.Source,
	" or redis.pcall('GET', KEYS[n + i]) ~= ARGV[2]", "", 1))

var leaselessAcquire = script.New("guarded_acquire", strings.Replace(script.GuardedAcquire.Source,
	"local taken = any_leased(leases, false)", "local taken = nil", 1))

// askShorteningExtend is askExtend, whatever is left of the TTL.
func (l *Lock) askShorteningExtend(r *round, again any) {
	r.eval(shorteningExtend, l.claim.keys, 0, time.Time{}, l.claim.token, l.ttlArg(), again)
}
