package ask

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
)

// Clock looks at the master's clock.
func (m *Master) Clock(ctx context.Context) (drift.Reading, error) {
	a := m.Do(ctx, "TIME")
	if a.Err != nil {
		return drift.Reading{}, a.Err
	}
	parts, err := redis.Int64s(a.Reply, nil)
	if err != nil || len(parts) != 2 {
		return drift.Reading{}, errors.New("TIME: not the reply of a Redis")
	}
	return drift.Reading{Sent: a.Sent, Received: a.Received, Time: time.Unix(parts[0], parts[1]*1000)}, nil
}
