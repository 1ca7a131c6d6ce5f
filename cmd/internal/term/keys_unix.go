//go:build unix

package term

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

const readsKeys = true

// keyPoll is for how long the keyboard is waited for at once, in milliseconds.
const keyPoll = 50

// Keys calls f with every byte that is typed, until ctx ends or the keyboard is
// gone. It returns within 50 ms after ctx.
func (t *Terminal) Keys(ctx context.Context, f func(key byte)) {
	if !t.HasKeys() {
		return
	}
	fd := int(t.in.Fd())
	buf := make([]byte, 64)
	for ctx.Err() == nil {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, keyPoll)
		if errors.Is(err, unix.EINTR) || err == nil && n == 0 {
			continue
		}
		if err != nil {
			return
		}
		n, err = unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil || n <= 0 {
			return // hung up
		}
		for _, key := range buf[:n] {
			f(key)
		}
	}
}
