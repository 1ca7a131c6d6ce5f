package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestASleepEndsWithItsTimeOrItsContext(t *testing.T) {
	t.Parallel()
	errStop := errors.New("stop")
	for _, test := range []struct {
		name          string
		wants, cancel time.Duration
		takes         time.Duration
		err           error
	}{
		{"to its end", time.Second, time.Hour, time.Second, nil},
		{"none", -time.Second, time.Hour, 0, nil},
		{"cancelled", time.Hour, time.Second, time.Second, errStop},
		{"cancelled before", time.Hour, 0, 0, errStop},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer time.AfterFunc(test.cancel, func() { cancel(errStop) }).Stop()
				began := time.Now()
				if err := Sleep(ctx, test.wants); !errors.Is(err, test.err) || time.Since(began) != test.takes {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(began), test.err, test.takes)
				}
			})
		})
	}
}
