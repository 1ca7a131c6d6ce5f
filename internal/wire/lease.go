package wire

import (
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/token"
)

// leasePrefix begins the keys of lease records, version 1; the lock's key follows.
const leasePrefix = ReservedPrefix + "lease:1:"

// LeaseType is the Type of a holder whose lock is gone but whose lease has not ended.
const LeaseType = "lease"

// leasedTo describes another holder's lease that prevents a grant.
func leasedTo(holder string, ms int64) *quorum.Held {
	return &quorum.Held{Type: LeaseType, Token: holder, Owner: token.Owner(holder), TTL: timeLeft(ms + 1), Masters: 1}
}
