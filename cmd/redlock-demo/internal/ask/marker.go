package ask

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
)

// markerKey is where the guard keeps its marker.
const markerKey = guard.Key

// A Marker is what a master has to say of the fleet that it belongs to.
type Marker struct {
	Run     string // the process that it was written for
	Since   int64  // ms since 1970 by the master's clock; 0: declared new
	MaxTTL  time.Duration
	Masters int
	Level   string // standard or strict
}

// Marker reads the marker; nil: there is none.
func (m *Master) Marker(ctx context.Context) (*Marker, error) {
	a := m.Do(ctx, "HMGET", markerKey, "run", "since", "maxttl", "n", "level")
	fields, err := redis.Strings(a.Reply, a.Err)
	if err != nil || len(fields) != 5 || fields[4] == "" {
		return nil, err
	}
	if fields[4] != guard.Standard.String() && fields[4] != guard.Strict.String() {
		fields[4] = "unknown level" // whatever it is: it is shown to people
	}
	number := func(s string) int64 {
		n, _ := strconv.ParseInt(s, 10, 64) // 0 where it is none: for people only
		return n
	}
	return &Marker{
		Run: fields[0], Since: number(fields[1]), MaxTTL: time.Duration(number(fields[2])) * time.Millisecond,
		Masters: int(number(fields[3])), Level: fields[4],
	}, nil
}

// SameFleet reports whether both name the same settings.
func (m *Marker) SameFleet(o *Marker) bool {
	return m.Level == o.Level && m.MaxTTL == o.MaxTTL && m.Masters == o.Masters
}

// String is the settings, for people.
func (m *Marker) String() string {
	masters := "masters"
	if m.Masters == 1 {
		masters = "master"
	}
	return fmt.Sprintf("%d %s, %s, longest TTL %v", m.Masters, masters, m.Level, m.MaxTTL)
}
