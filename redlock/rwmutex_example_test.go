package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redquorum/redquorum/redlock"
)

func ExampleClient_RWMutex() {
	client, err := redlock.Open(masterURLs)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	catalogue := client.RWMutex("catalogue")

	first, err := catalogue.RLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	second, err := catalogue.RLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("two are reading")
	if _, err := catalogue.TryLock(ctx); errors.Is(err, redlock.ErrTaken) {
		fmt.Println("nobody writes meanwhile")
	}
	for _, reader := range []*redlock.Lock{first, second} {
		if err := reader.Unlock(ctx); err != nil {
			log.Print(err) // it expires by itself
		}
	}

	writer, err := catalogue.Lock(ctx) // waits for readers
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("writing")
	if err := writer.Unlock(ctx); err != nil {
		log.Print(err)
	}
	// Output:
	// two are reading
	// nobody writes meanwhile
	// writing
}
