package fleets

import "sync"

// jobs are the goroutines of a Locker that release the remaining parts of lost holds. The
// Locker's Close waits for them. The zero value is ready to use.
type jobs struct {
	mu    sync.Mutex // guards what follows
	n     int
	ended chan struct{} // closed when n becomes 0; nil: nobody waits
}

func (j *jobs) begin() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.n++
}

func (j *jobs) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.n--; j.n == 0 && j.ended != nil {
		close(j.ended)
		j.ended = nil
	}
}

// wait waits until they have ended. Each takes at most the command timeout.
func (j *jobs) wait() {
	j.mu.Lock()
	if j.n == 0 {
		j.mu.Unlock()
		return
	}
	if j.ended == nil {
		j.ended = make(chan struct{})
	}
	ended := j.ended
	j.mu.Unlock()
	<-ended
}
