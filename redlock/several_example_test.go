package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func ExampleClient_LockAll() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	// Both accounts or none, in whatever order others name them.
	lock, err := client.LockAll(ctx, []string{"account:7", "account:3"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lock.Keys())
	if _, err := client.TryLock(ctx, "account:7"); errors.Is(err, redlock.ErrTaken) {
		fmt.Println("account:7 is taken")
	}
	if err := lock.Unlock(ctx); err != nil {
		log.Print(err) // the keys expire by themselves
	}
	// Output:
	// [account:3 account:7]
	// account:7 is taken
}

// Six sellers share an inventory. With one lock only one of them sells at a time. With five
// segments, of which each seller locks a free one, several sell at once.
func ExampleClient_LockAny_segments() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	sellOut := func(segments ...string) (sold, mostAtOnce int) {
		stock := make(map[string]*int) // each is touched under the lock of its segment alone
		for _, segment := range segments {
			left := 30 / len(segments)
			stock[segment] = &left
		}
		var mu sync.Mutex // guards what is counted
		atOnce := 0
		count := func(selling int) {
			mu.Lock()
			defer mu.Unlock()
			atOnce += selling
			mostAtOnce = max(mostAtOnce, atOnce)
		}
		var sellers sync.WaitGroup
		for range 6 {
			sellers.Go(func() {
				for open := slices.Clone(segments); len(open) > 0; {
					lock, err := client.LockAny(context.Background(), open)
					if err != nil {
						log.Fatal(err)
					}
					count(+1)
					if left := stock[lock.Key()]; *left == 0 {
						open = slices.DeleteFunc(open, func(key string) bool { return key == lock.Key() })
					} else if time.Sleep(30 * time.Millisecond); lock.Context().Err() == nil { // a sale takes its time
						*left--
					}
					count(-1)
					_ = lock.Unlock(context.Background())
				}
			})
		}
		sellers.Wait()
		sold = 30
		for _, left := range stock {
			sold -= *left
		}
		return sold, mostAtOnce
	}
	fmt.Println(sellOut("whole"))
	sold, atOnce := sellOut("part:1", "part:2", "part:3", "part:4", "part:5")
	fmt.Println(sold, "several at once:", atOnce > 1)
	// Output:
	// 30 1
	// 30 several at once: true
}
