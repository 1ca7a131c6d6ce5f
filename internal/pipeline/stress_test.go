package pipeline

import (
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
)

// A job is a call that its owner uses again as soon as it is handed back, as rounds do. The race
// detector finds code that touches it after that.
type job struct {
	Call
	number int
	busy   atomic.Bool
}

type stress struct {
	t        *testing.T
	all      []*job    // by slot
	free     chan *job // has room for all
	next     atomic.Int64
	answered atomic.Int64
	failed   atomic.Int64
	delayed  atomic.Int64
	dropped  atomic.Int64
	closed   atomic.Bool // a call was completed with ErrClosed
}

func (s *stress) Abandoned(c *Call) bool {
	j := s.job(c, "Abandoned")
	return j.number%31 == 0
}

func (s *stress) Delayed(c *Call, cause error) {
	j := s.job(c, "Delayed")
	if c.RetryUntil.IsZero() || cause == nil {
		s.t.Errorf("call %d: Delayed(%v), kept until %v", j.number, cause, c.RetryUntil)
	}
	s.delayed.Add(1)
}

func (s *stress) Complete(c *Call) {
	j := s.job(c, "Complete")
	switch {
	case c.Err == nil:
		if reply, _ := c.Reply.([]byte); string(reply) != strconv.Itoa(j.number) {
			s.t.Errorf("call %d got the reply %q", j.number, c.Reply)
		}
		if !c.Sent || c.Epoch == 0 {
			s.t.Errorf("call %d: answered, sent %t, epoch %d", j.number, c.Sent, c.Epoch)
		}
		s.answered.Add(1)
	case errors.Is(c.Err, ErrAbandoned):
		if j.number%31 != 0 {
			s.t.Errorf("call %d: %v", j.number, c.Err)
		}
		s.dropped.Add(1)
	case errors.Is(c.Err, ErrClosed):
		s.closed.Store(true)
	case errors.Is(c.Err, ErrConnectionLost), errors.Is(c.Err, ErrDown), errors.Is(c.Err, ErrProtocol):
		if !c.RetryUntil.IsZero() {
			s.t.Errorf("call %d was to be kept: %v", j.number, c.Err)
		}
		s.failed.Add(1)
	default:
		s.t.Errorf("call %d: %v", j.number, c.Err)
	}
	if !j.busy.CompareAndSwap(true, false) {
		s.t.Errorf("call %d was completed twice", j.number)
	}
	s.free <- j
}

// job finds the job of a call, which must be the pipeline's.
func (s *stress) job(c *Call, callback string) *job {
	j := s.all[c.Slot]
	if c != &j.Call || !j.busy.Load() {
		s.t.Errorf("%s for call %d, which is not the pipeline's", callback, j.number)
	}
	return j
}

// newStress makes this many jobs, all of them free.
func newStress(t *testing.T, jobs int) *stress {
	s := &stress{t: t, free: make(chan *job, jobs)}
	for slot := range jobs {
		j := &job{Call: Call{Command: &Command{Owner: s}, Slot: slot}}
		s.all = append(s.all, j)
		s.free <- j
	}
	return s
}

// allBack waits until all calls have been handed back.
func (s *stress) allBack(p *Pipeline) {
	s.t.Helper()
	for range s.all {
		testutil.Await(s.t, bound, "all calls are handed back", s.free)
	}
	if n := p.Stats().InFlight; n != 0 {
		s.t.Errorf("%d in flight", n)
	}
}

// run uses a job for a new call.
func (s *stress) run(p *Pipeline, j *job) {
	if !j.busy.CompareAndSwap(false, true) {
		s.t.Errorf("call %d is in use", j.number)
	}
	j.number = int(s.next.Add(1))
	j.Cmd, j.Encoded, j.RetryUntil = "ECHO", AppendCommand(nil, "ECHO", j.number), time.Time{}
	if j.number%3 == 0 {
		j.RetryUntil = time.Now().Add(time.Hour)
	}
	p.Enqueue(&j.Call)
}

func TestCallsAreCompletedExactlyOnceWhateverTheServerDoes(t *testing.T) {
	const jobs, wanted, goroutines = 300, 20_000, 4
	srv := newFakeServer(t)
	srv.reply = func(c *fakeConn, args []string) string {
		whole := bulk(args[1])
		switch rand.IntN(800) {
		case 0: // the command was executed, and its reply is lost
			_ = c.Close()
		case 1:
			c.reset()
		case 2: // in mid-reply
			_, _ = io.WriteString(c, whole[:1+rand.IntN(len(whole)-1)])
			_ = c.Close()
		case 3:
			return "$9223372036854775807\r\n"
		default:
			return whole
		}
		return ""
	}
	srv.greet = func(c *fakeConn, _ []string) (string, bool) {
		if rand.IntN(30) == 0 {
			_ = c.Close()
		}
		return "", false
	}
	cfg := short(srv.config())
	cfg.QueueLimit = jobs // as many as there are: nothing may be refused
	p := open(t, cfg)
	s := newStress(t, jobs)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for s.answered.Load() < wanted && !t.Failed() {
				if up, _ := p.Up(); !up && rand.IntN(20) != 0 {
					runtime.Gosched() // calls to a master that is down fail at once: make few of them
					continue
				}
				select {
				case j := <-s.free:
					s.run(p, j)
				case <-time.After(bound):
					t.Error("no call comes back any more")
				}
			}
		})
	}
	wg.Wait()
	s.allBack(p)
	stats := p.Stats()
	done := s.answered.Load() + s.failed.Load() + s.dropped.Load()
	if done != s.next.Load() {
		t.Errorf("%d calls, %d completions", s.next.Load(), done)
	}
	t.Logf("%d answered, %d failed, %d abandoned; Delayed %d times; %d connections",
		s.answered.Load(), s.failed.Load(), s.dropped.Load(), s.delayed.Load(), stats.Epoch)
	if s.failed.Load() == 0 || s.dropped.Load() == 0 || s.delayed.Load() == 0 || stats.Epoch < 5 {
		t.Error("the test did not do what it is for")
	}
}

// The pipeline is closed while calls are in flight.
func TestCallsAreCompletedExactlyOnceByClose(t *testing.T) {
	for range 30 {
		srv := newFakeServer(t)
		srv.reply = func(c *fakeConn, args []string) string {
			if rand.IntN(200) == 0 {
				_ = c.Close()
			}
			return bulk(args[1])
		}
		p := New(short(srv.config()))
		s := newStress(t, 100)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for !s.closed.Load() {
					s.run(p, testutil.Await(t, bound, "a call is handed back", s.free))
				}
			})
		}
		testutil.Eventually(t, "calls are completed", func() bool { return s.answered.Load() > rand.Int64N(1000) })
		p.Close()
		wg.Wait()
		s.allBack(p)
		srv.stop()
	}
}
