package redlocktest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

// The masters run for as long as the test.
func ExampleStart() {
	TestOnlyOneSells := func(t testing.TB) { // in earnest: t *testing.T
		client, err := redlock.Open(redlocktest.Start(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()

		lock, err := client.Lock(t.Context(), "stock:42")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = lock.Unlock(context.Background()) }()
		if _, err := client.TryLock(t.Context(), "stock:42"); !errors.Is(err, redlock.ErrTaken) {
			t.Errorf("two sell at once: %v", err)
		}
	}
	fmt.Println(passes(TestOnlyOneSells))
	// Output: true
}

// This test runs in virtual time: a real one calls it in synctest.Test, with its t.
func ExampleStartInBubble() {
	TestTheLockIsRenewed := func(t testing.TB) {
		client, err := redlocktest.StartInBubble(t, 3).Open(redlock.WithTTL(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		lock, err := client.Lock(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // which takes no time in a bubble
		if lock.Remaining() == 0 {
			t.Errorf("the lock was not renewed")
		}
	}
	fmt.Println(passes(TestTheLockIsRenewed))
	// Output: true
}

// The test shows what happens to the program when masters die.
func ExampleStartCluster() {
	TestTwoMastersMayDie := func(t testing.TB) { // in earnest: t *testing.T
		masters := redlocktest.StartCluster(t, 5)
		client, err := redlock.Open(masters.URLs(), redlock.WithOutageWait(10*time.Second), redlock.WithLogger(nil))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		work := func(context.Context) error { return nil }
		if err := client.Do(t.Context(), "job", work); err != nil {
			t.Fatal(err)
		}

		masters.Kill(0)
		masters.Freeze(1) // it keeps its connections, and answers nothing
		if err := client.Do(t.Context(), "job", work); err != nil {
			t.Errorf("with three of five masters: %v", err)
		}
		masters.Kill(2)
		if err := client.TryDo(t.Context(), "job", work); !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("with two of five masters: %v", err)
		}

		masters.Restart(0) // it is empty, and does not vote for WithMaxTTL
		if err := client.TryDo(t.Context(), "job", work); !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("with a master that has forgotten its locks: %v", err)
		}
		masters.Thaw(1) // it goes on with what it has
		if err := client.Do(t.Context(), "job", work); err != nil {
			t.Errorf("with three of five masters again: %v", err)
		}
	}
	fmt.Println(passes(TestTwoMastersMayDie))
	// Output: true
}

// Run starts masters for an Example function, or for TestMain.
func ExampleRun() {
	urls, stop, err := redlocktest.Run(3)
	if err != nil {
		log.Fatal(err)
	}
	defer stop()
	client, err := redlock.Open(urls)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = client.Do(context.Background(), "greeting", func(context.Context) error {
		fmt.Println("hello from under the lock")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: hello from under the lock
}
