package hold

import "context"

// OnCancel calls f on the goroutine that ends the handle's context, just before that. free
// reports whether the hold's mutex is unlocked.
func (n *Handle) OnCancel(f func(free func() bool)) {
	n.Context(context.Background)
	n.hold.mu.Lock()
	defer n.hold.mu.Unlock()
	cancel := n.ctx.cancel
	n.ctx.cancel = func(cause error) {
		f(func() bool {
			free := n.hold.mu.TryLock()
			if free {
				n.hold.mu.Unlock()
			}
			return free
		})
		cancel(cause)
	}
}
