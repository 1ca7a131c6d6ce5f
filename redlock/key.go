package redlock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/internal/wire"
)

// checkKey returns what is wrong with a key, as the caller named it.
func (o *clientOptions) checkKey(key string) error {
	switch n, prefix := len(key), len(o.prefix); {
	case n == 0:
		return errors.New("the key is empty")
	case prefix+n > wire.MaxKey && prefix > 0:
		return fmt.Errorf("the key has %d bytes, and the prefix %d: want at most %d together", n, prefix, wire.MaxKey)
	case n > wire.MaxKey:
		return fmt.Errorf("the key has %d bytes: want 1 to %d", n, wire.MaxKey)
	}
	if strings.HasPrefix(o.prefix+key, wire.ReservedPrefix) {
		return fmt.Errorf("key %q: the prefix %q is reserved", key, wire.ReservedPrefix)
	}
	return nil
}

// prefixed returns the keys as they are in Redis.
func (o *clientOptions) prefixed(keys []string) []string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = o.prefix + key
	}
	return all
}

// withoutPrefix returns a key as the caller named it.
func (o *clientOptions) withoutPrefix(key string) string { return strings.TrimPrefix(key, o.prefix) }
