//go:build unix

package chaos

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/job"
)

// signals gives the terminal back while the process is suspended. What ends the process is the program's.
func (s *show) signals(ctx context.Context) {
	signals := make(chan os.Signal, 4)
	job.Listen(signals, syscall.SIGTSTP)
	defer signal.Stop(signals)
	for {
		select {
		case <-signals:
			if err := s.suspend(); err != nil {
				s.cancel(&app.OutputError{Err: err})
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// resumeBound is for how long a process that stops itself may run on before it
// does.
const resumeBound = time.Second

func (s *show) suspend() error {
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	s.release()
	// package signal cannot give SIGTSTP its default back.
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	select {
	case <-resumed:
	case <-time.After(resumeBound): // no time passes for this process while it is stopped
	}
	return s.terminal.Retake()
}
