package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

// rueidislockPeer is rueidislock with its own settings. It uses one deployment, here the
// first master. It needs two of three keys there, which it sets one after the other. Like
// redislock it has no quorum of masters.
type rueidislockPeer struct{ locks rueidislock.Locker }

func openRueidislock(urls []string) (peer, error) {
	option, err := rueidis.ParseURL(urls[0])
	if err != nil {
		return nil, err
	}
	locks, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: option, KeyValidity: ttl,
		NoLoopTracking: true, // as it advises for Redis 7.0.5 and later
	})
	if err != nil {
		return nil, err
	}
	return &rueidislockPeer{locks}, nil
}

// connect has nothing to fill: all goroutines share one connection.
func (p *rueidislockPeer) connect(ctx context.Context, _ int) error {
	if err := p.locks.Client().Do(ctx, p.locks.Client().B().Ping().Build()).Error(); err != nil {
		return fmt.Errorf("rueidislock: %w", err)
	}
	return nil
}

func (p *rueidislockPeer) worker(key string) worker {
	return &rueidislockWorker{locks: p.locks, key: key}
}

func (p *rueidislockPeer) close() error {
	p.locks.Close()
	return nil
}

type rueidislockWorker struct {
	locks  rueidislock.Locker
	key    string
	cancel context.CancelFunc
}

func (w *rueidislockWorker) lock(ctx context.Context) (err error) {
	_, w.cancel, err = w.locks.TryWithContext(ctx, w.key)
	return err
}

// unlock returns when all keys are deleted, or could not be deleted. It cannot know which.
func (w *rueidislockWorker) unlock(context.Context) error {
	w.cancel()
	return nil
}

// The default client asks whether the server is a member of a cluster. Embedded masters have
// no client-side caching, so the test disables it.
func TestTheDefaultClientOfRueidisWorksOnEmbeddedMasters(t *testing.T) {
	option, err := rueidis.ParseURL(redlocktest.Start(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	option.DisableCache = true
	client, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Bound)
	defer cancel()
	if err := client.Do(ctx, client.B().Set().Key("key").Value("value").Build()).Error(); err != nil {
		t.Error(err)
	}
	if got, err := client.Do(ctx, client.B().Get().Key("key").Build()).ToString(); got != "value" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
