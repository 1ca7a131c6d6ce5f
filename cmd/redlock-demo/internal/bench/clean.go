package bench

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
)

// cleanBound is how long cleaning one master may take.
const cleanBound = 10 * time.Second

// clean deletes on every master what the library may have left beside the locks,
// all at once. It goes on when the run was ended early. A master that was not reached
// before and is not now is away: it has nothing to be deleted.
func (o *Options) clean(prefix string, reached []bool) (left []Left, away []string) {
	var names []any
	for n := range o.keys() {
		names = append(names, ask.LeftBy(prefix+strconv.Itoa(n))...)
	}
	var wg sync.WaitGroup
	urls := o.urls()
	all := make([]Left, len(urls))
	for i, url := range urls {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), cleanBound)
			defer cancel()
			if name, err := ask.Delete(ctx, url, names, o.Pool...); err != nil {
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
