//go:build !unix

package term

import "context"

const readsKeys = false

// Keys are not read here: a read of the keyboard could not be ended.
func (t *Terminal) Keys(context.Context, func(key byte)) {}
