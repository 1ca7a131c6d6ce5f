package ask

import (
	"context"

	"github.com/redquorum/redquorum/pool"
)

// LeftBy are the names of all keys that the library may leave on a master for a
// lock.
func LeftBy(key string) []any {
	return []any{key, QueueKey(key), "redquorum:fence:1:" + key, "redquorum:lease:1:" + key}
}

const deleteBatch = 500 // names in one DEL

// Delete deletes keys on the master at the URL, on a connection of its own: one that
// is back again is reached at once. ctx bounds it. name is the master's address.
func Delete(ctx context.Context, url string, names []any, opts ...pool.Option) (name string, err error) {
	m, err := Open(url, opts...)
	if err != nil {
		return "", err
	}
	defer m.Close()
	if _, err := m.Connect(ctx); err != nil {
		return m.Name(), err
	}
	for len(names) > 0 {
		n := min(len(names), deleteBatch)
		if a := m.Do(ctx, "DEL", names[:n]...); a.Err != nil {
			return m.Name(), a.Err
		}
		names = names[n:]
	}
	return m.Name(), nil
}
