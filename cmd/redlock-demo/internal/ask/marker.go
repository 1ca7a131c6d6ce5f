package ask

import (
	"context"
	"errors"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
)

// Marker reads what the master has to say of the fleet that it belongs to; nil:
// there is nothing. Where something else is at its name, the type of that is all
// that is read.
func (m *Master) Marker(ctx context.Context) (*guard.Stored, error) {
	command, args := guard.ReadStored()
	a := m.Do(ctx, command, args...)
	if s, found := guard.ParseStored(a.Reply); found && a.Err == nil {
		return &s, nil
	}
	var refused redis.Error
	if a.Err != nil && (!errors.As(a.Err, &refused) || !strings.HasPrefix(string(refused), "WRONGTYPE")) {
		return nil, a.Err
	}
	t := m.Do(ctx, "TYPE", guard.Key)
	kind, err := redis.String(t.Reply, t.Err)
	switch {
	case err != nil && a.Err == nil, kind == "none": // a hash without any field of ours is rare
		return nil, nil
	case err != nil:
		return nil, a.Err
	}
	return &guard.Stored{Type: kind}, nil
}
