package integration

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// A monitor sees the commands that a master gets, by MONITOR.
type monitor struct {
	conn redis.Conn
	done chan struct{}

	mu       sync.Mutex // guards commands
	commands [][]string
}

// monitor starts to watch a master, until stop or the end of the test.
func (p *processes) monitor(i int) *monitor {
	p.t.Helper()
	conn, err := p.servers[i].Dial(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := conn.Do("MONITOR"); err != nil {
		p.t.Fatal(err)
	}
	m := &monitor{conn: conn, done: make(chan struct{})}
	go m.read()
	p.t.Cleanup(m.stop)
	return m
}

func (m *monitor) read() {
	defer close(m.done)
	for {
		line, err := redis.String(redis.ReceiveWithTimeout(m.conn, 0))
		if err != nil {
			return
		}
		m.mu.Lock()
		m.commands = append(m.commands, parseMonitor(line))
		m.mu.Unlock()
	}
}

func (m *monitor) stop() {
	_ = m.conn.Close()
	<-m.done
}

// parseMonitor takes the words of a command from a line such as
// 1339518083.107412 [0 127.0.0.1:60866] "set" "key" "value". What Lua calls has
// "lua" for an address.
func parseMonitor(line string) []string {
	_, command, _ := strings.Cut(line, "] ")
	words := strings.Split(strings.Trim(command, `"`), `" "`)
	if strings.Contains(line, " lua] ") {
		words = append([]string{"lua"}, words...)
	}
	return words
}

// about returns the commands of clients that name the token.
func (m *monitor) about(token string) [][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found [][]string
	for _, c := range m.commands {
		if slices.Contains(c, token) && c[0] != "lua" {
			found = append(found, c)
		}
	}
	return found
}

// wantLast waits until the last command about the token is the one expected,
// and forgets what was seen so far.
func (m *monitor) wantLast(t *testing.T, token string, expected func(command []string) bool) {
	t.Helper()
	var all [][]string
	eventually(t, "the master shows the release", func() bool {
		all = m.about(token)
		return len(all) > 1 && slices.ContainsFunc(all, expected)
	})
	if last := all[len(all)-1]; !expected(last) {
		t.Errorf("the last command is %q, after the release", last)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands = nil
}
