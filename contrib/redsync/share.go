package redsync

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	goredislib "github.com/redis/go-redis/v9"

	"github.com/redquorum/redquorum/contrib/goredis"
	"github.com/redquorum/redquorum/contrib/redsync/internal/source"
	"github.com/redquorum/redquorum/contrib/redsync/redis"
	"github.com/redquorum/redquorum/redlock"
)

// A share is a Redsync's use of a client.
type share struct {
	client *redlock.Client
	opened *openedClient     // nil: the client is the caller's
	number map[string]int    // the position in New of each master, by its address
	texts  *strings.Replacer // puts these positions into the client's texts; nil: they are the same
}

// An openedClient serves every Redsync of the same go-redis clients.
type openedClient struct {
	client  *redlock.Client
	masters []goredislib.UniversalClient // kept, so that no new go-redis client gets the address of one
	ids     []string                     // the addresses of masters in memory
	users   int                          // guarded by openedMu
}

var (
	openedMu sync.Mutex                       // nothing blocks under it
	opened   = make(map[string]*openedClient) // by the ids of the go-redis clients, sorted
)

// newShare returns a share of the client of these pools, and opens the client if nobody uses
// it yet.
func newShare(pools []redis.Pool) (*share, error) {
	var masters []goredislib.UniversalClient
	var ids []string
	for i, pool := range pools {
		switch p := pool.(type) {
		case source.Master:
			masters, ids = append(masters, p.UniversalClient), append(ids, fmt.Sprintf("%p", p.UniversalClient))
		case source.Client:
			if len(pools) > 1 {
				return nil, fmt.Errorf("redsync: pool %d of %d is a redlock.Client, which has all masters: "+
					"give New that pool alone", i+1, len(pools))
			}
			return newNumbered(p.Client, nil), nil
		default:
			return nil, fmt.Errorf(
				"redsync: pool %d is a %T: want pools of NewPool (redis/goredis/v9), or one of PoolOf", i+1, pool)
		}
	}
	openedMu.Lock()
	defer openedMu.Unlock()
	key := keyOf(ids)
	o := opened[key]
	if o == nil {
		client, err := goredis.Open(masters)
		if err != nil {
			return nil, fmt.Errorf("redsync: %w", err)
		}
		o = &openedClient{client: client, masters: masters, ids: ids}
		opened[key] = o
	}
	o.users++
	s := newNumbered(o.client, func(i int) int { return slices.Index(ids, o.ids[i]) })
	s.opened = o
	return s, nil
}

// newNumbered makes a share in which master i of the client has the number position(i), or i
// if position is nil.
func newNumbered(client *redlock.Client, position func(i int) int) *share {
	s := &share{client: client, number: make(map[string]int)}
	if client == nil {
		return s // the methods of a nil client return errors
	}
	var texts []string
	for i, m := range client.Masters() {
		if s.number[m.Master] = i; position != nil {
			s.number[m.Master] = position(i)
			texts = append(texts, fmt.Sprintf("%s (master %d)", m.Master, i+1),
				fmt.Sprintf("%s (master %d)", m.Master, position(i)+1))
		}
	}
	if texts != nil {
		s.texts = strings.NewReplacer(texts...)
	}
	return s
}

func keyOf(ids []string) string {
	return strings.Join(slices.Sorted(slices.Values(ids)), " ")
}

// end gives the share back. The last share of a client that was opened here closes the client.
func (s *share) end() error {
	if s.opened == nil {
		return nil
	}
	openedMu.Lock()
	s.opened.users--
	last := s.opened.users == 0
	if last {
		delete(opened, keyOf(s.opened.ids))
	}
	openedMu.Unlock()
	if !last {
		return nil
	}
	return s.client.Close()
}
