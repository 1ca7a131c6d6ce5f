package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

// batchArgs is how many arguments each part of a batch has, by script.
var batchArgs = map[string]int{script.ReleaseBatch.SHA: 1, script.ReleaseLeases.SHA: 1, script.AcquireBatch.SHA: 6}

// batchCalls returns the keys and tokens of a command that releases or acquires several locks,
// and nil for any other command. w are the command's words. Other keys follow the keys of the
// locks, and one common argument follows the arguments of the parts.
func batchCalls(w []string) (keys, tokens []string) {
	if len(w) < 3 || w[0] != "EVALSHA" || batchArgs[w[1]] == 0 {
		return nil, nil
	}
	each := batchArgs[w[1]]
	all, err := strconv.Atoi(w[2])
	n := (len(w) - 3 - all - 1) / each
	if err != nil || n < 1 || n > all {
		return nil, nil
	}
	for i := range n {
		tokens = append(tokens, w[3+all+each*i])
	}
	return w[3 : 3+n], tokens
}

// batchText makes such a command readable: each key with the end of its token. It is "" for
// other commands.
func batchText(w []string) string {
	keys, tokens := batchCalls(w)
	if len(keys) == 0 {
		return ""
	}
	parts := make([]string, len(keys))
	for i, key := range keys {
		parts[i] = fmt.Sprintf("%s …%s", key, tokens[i][max(0, len(tokens[i])-8):])
	}
	return fmt.Sprintf("%s of %d: %s", names[w[1]], len(keys), strings.Join(parts, ", "))
}

// giveBackTogether checks that the commands of one flush stay in order. A client releases two
// locks and tries for one of them at once, before either release has been sent. The first try
// succeeds, because nobody else wants the lock.
func (w *world) giveBackTogether(c *client) {
	var held [2]*active
	for i := range held {
		ctx, cancel := w.worker(c, i).within(2 * time.Second)
		asked := w.now()
		l, err := c.lock().Lock(ctx, fmt.Sprintf("k%d", i), redlock.WithLease(w.p.TTL))
		cancel()
		if err != nil {
			w.violated(history.Stuck, fmt.Sprintf("%s cannot get k%d after all has calmed down: %v", c.name, i, err))
			return
		}
		held[i] = c.granted(l, Wait, i, false, asked)
	}
	done := make(chan struct{})
	for i, a := range held {
		go func() {
			k := w.worker(c, i)
			k.sleep(0)
			k.unlock(c, a)
			done <- struct{}{}
		}()
	}
	next := w.worker(c, len(held))
	next.sleep(2 * time.Duration(w.every)) // after both
	asked := w.now()
	l, err := c.lock().TryLock(background, "k0", redlock.WithLease(w.p.TTL))
	for range held {
		<-done
	}
	if err != nil {
		w.violated(history.Stuck, fmt.Sprintf("%s gives k0 back and cannot get it at once: %v", c.name, err))
		return
	}
	next.unlock(c, c.granted(l, Try, len(held), false, asked))
}
