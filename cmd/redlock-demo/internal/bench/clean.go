package bench

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
)

// Bounds of cleaning one master.
const (
	cleanBound = 10 * time.Second
	cleanBatch = 500 // names in one DEL
)

// clean deletes on every master what the library may have left beside the locks,
// all at once. It goes on when the run was ended early. A master that was not reached
// before and is not now is away: it has nothing to be deleted.
func (o *Options) clean(prefix string, reached []bool) (left []Left, away []string) {
	var names []any
	for n := range o.keys() {
		key := prefix + strconv.Itoa(n)
		names = append(names, key, "redquorum:q:1:"+key, "redquorum:fence:1:"+key, "redquorum:lease:1:"+key)
	}
	var wg sync.WaitGroup
	all := make([]Left, len(o.URLs))
	for i, url := range o.URLs {
		wg.Go(func() {
			if name, err := o.cleanMaster(url, names); err != nil {
				all[i] = Left{name, err.Error()}
			}
		})
	}
	wg.Wait()
	for i, l := range all {
		switch {
		case l.Error == "":
		case reached[i]:
			left = append(left, l)
		default:
			away = append(away, l.Master)
		}
	}
	return left, away
}

func (o *Options) cleanMaster(url string, names []any) (master string, err error) {
	m, err := ask.Open(url, o.Pool...)
	if err != nil {
		return "", err // cannot be: a client was made of it
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(context.Background(), cleanBound)
	defer cancel()
	if _, err := m.Connect(ctx); err != nil {
		return m.Name(), err
	}
	for len(names) > 0 {
		n := min(len(names), cleanBatch)
		if a := m.Do(ctx, "DEL", names[:n]...); a.Err != nil {
			return m.Name(), a.Err
		}
		names = names[n:]
	}
	return m.Name(), nil
}
