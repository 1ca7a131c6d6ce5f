package redistest

import (
	"errors"
	"fmt"
	"strings"
)

// A Feature is something that Redis has since a version, and every version of Valkey has.
type Feature struct {
	name         string
	major, minor int
}

// The features that tests ask for.
var (
	ACL             = Feature{"ACL", 6, 0} // with CLIENT KILL USER
	TLS             = Feature{"TLS", 6, 0}
	LoadDelay       = Feature{"key-load-delay", 6, 0}
	SubcommandStats = Feature{"commandstats of subcommands", 7, 0} // of CLIENT ID by itself
	WriteOnlyKeys   = Feature{"ACL for keys that may only be written", 7, 0}
	// ReplicasForScripts: min-replicas-to-write holds for what scripts write, too.
	ReplicasForScripts = Feature{"min-replicas-to-write for scripts", 6, 0}
	// BoundedTTL: a TTL that would overflow the expiry is an error. Without this feature the key
	// expires at once.
	BoundedTTL = Feature{"error for a TTL that overflows", 6, 2}
)

// A MissingError says which features the server lacks.
type MissingError string

func (e MissingError) Error() string { return "left out on this server: it has " + string(e) }

// Missing returns nil if the redis-server of [Find] is new enough for all these features. The
// error is a [MissingError] if it is not.
func Missing(features ...Feature) error {
	path, version, err := Find()
	if err != nil {
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("redistest: version %q of %s: %w", version, path, err)
	}
	var lacking []string
	for _, f := range features {
		if major < f.major || major == f.major && minor < f.minor {
			lacking = append(lacking, fmt.Sprintf("no %s (Redis %d.%d)", f.name, f.major, f.minor))
		}
	}
	if lacking != nil {
		return MissingError(strings.Join(lacking, ", "))
	}
	return nil
}

// Need skips a test if the server lacks one of the features, and names those. If there is no server
// at all, it leaves the test to [Start].
func Need(tb TB, features ...Feature) {
	tb.Helper()
	if missing, lacks := errors.AsType[MissingError](Missing(features...)); lacks {
		tb.Skipf("%v", missing)
	}
}

// Needs returns the features that a server needs for this configuration.
func (c *Config) Needs() []Feature {
	var all []Feature
	if len(c.ACL) > 0 {
		all = append(all, ACL)
	}
	if c.TLS != nil {
		all = append(all, TLS)
	}
	return all
}
