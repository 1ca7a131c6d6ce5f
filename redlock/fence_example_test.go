package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redquorum/redquorum/redlock"
)

// A register is a resource that fences: in a database this is one statement,
// UPDATE … SET value = ?, fence = ? WHERE id = ? AND fence <= ?.
type register struct {
	fence uint64
	value string
}

func (r *register) write(fence uint64, value string) error {
	if fence < r.fence {
		return errors.New("refused: a later holder has written")
	}
	r.fence, r.value = fence, value
	return nil
}

// A holder that is paused past the end of its lock does no harm if the resource compares fencing
// tokens.
func ExampleWithFencing() {
	client, err := redlock.Open(masterURLs, redlock.WithFencing())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	var invoice register

	first, err := client.Lock(ctx, "invoice:7")
	if err != nil {
		log.Fatal(err)
	}
	_ = first.Unlock(ctx) // or it is lost, while its holder is paused

	second, err := client.Lock(ctx, "invoice:7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(invoice.write(second.Fence(), "paid"))
	fmt.Println(invoice.write(first.Fence(), "open")) // the first goes on
	fmt.Println(invoice.value)
	// Output:
	// <nil>
	// refused: a later holder has written
	// paid
}
