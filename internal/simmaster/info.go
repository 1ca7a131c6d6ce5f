package simmaster

import (
	"fmt"
	"net"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// version is the Redis version that a master reports. No field or reply here is newer.
const version = "7.2.0"

// policy is the maxmemory-policy: nothing is ever evicted.
const policy = "noeviction"

var infoSections = []string{"server", "clients", "memory", "persistence", "stats", "replication"}

// info returns the text of INFO for the sections in args, as Redis does: all without arguments,
// none for unknown names. It locks only Master.mu, because scripts call it.
func (m *Master) info(r *run, args []string) string {
	wanted := map[string]bool{}
	for _, a := range args {
		wanted[strings.ToLower(a)] = true
	}
	all := len(args) == 0 || wanted["default"] || wanted["all"] || wanted["everything"]

	m.mu.Lock()
	clients, accepted, executed, replID := len(m.sessions), r.accepted, r.executed, r.replID
	port := 0
	if r.listener != nil {
		port = r.listener.Addr().(*net.TCPAddr).Port
	}
	m.mu.Unlock()

	now := m.clock.read
	up := int64(now.Sub(r.started) / time.Second) // by the wall clock, as in Redis
	lines := map[string][]string{
		"server": {
			"redis_version:" + version,
			"redis_mode:standalone",
			"redquorum_simulated:1",
			"os:" + runtime.GOOS + " " + runtime.GOARCH,
			fmt.Sprintf("arch_bits:%d", 32<<(^uint(0)>>63)),
			fmt.Sprintf("process_id:%d", os.Getpid()),
			"run_id:" + r.id,
			fmt.Sprintf("tcp_port:%d", port),
			fmt.Sprintf("server_time_usec:%d", now.UnixMicro()),
			fmt.Sprintf("uptime_in_seconds:%d", up),
			fmt.Sprintf("uptime_in_days:%d", up/86400),
		},
		"clients": {
			fmt.Sprintf("connected_clients:%d", clients),
		},
		"memory": {
			"maxmemory:0",
			"maxmemory_human:0B",
			"maxmemory_policy:" + policy,
		},
		"persistence": {
			"loading:0",
			"async_loading:0",
			"aof_enabled:0",
		},
		"stats": {
			fmt.Sprintf("total_connections_received:%d", accepted),
			fmt.Sprintf("total_commands_processed:%d", executed),
			"evicted_keys:0",
		},
		"replication": {
			"role:master",
			"connected_slaves:0",
			"master_failover_state:no-failover",
			"master_replid:" + replID,
			"master_replid2:" + strings.Repeat("0", 40),
			fmt.Sprintf("master_repl_offset:%d", executed),
			"second_repl_offset:-1",
		},
	}
	var parts []string
	for _, name := range infoSections {
		if all || wanted[name] {
			title := "# " + strings.ToUpper(name[:1]) + name[1:]
			parts = append(parts, title+"\r\n"+strings.Join(lines[name], "\r\n")+"\r\n")
		}
	}
	return strings.Join(parts, "\r\n")
}

// configured is what CONFIG GET knows, sorted by name.
var configured = [][2]string{
	{"appendonly", "no"},
	{"maxmemory", "0"},
	{"maxmemory-policy", policy},
	{"save", ""},
}

// answerConfig answers CONFIG GET for names and glob patterns.
func answerConfig(p *server.Peer, args []string) {
	if len(args) == 0 {
		wrongNumber(p, "config")
		return
	}
	if !strings.EqualFold(args[0], "GET") {
		p.WriteError("ERR CONFIG " + strings.ToUpper(args[0]) + " is not simulated")
		return
	}
	if len(args) == 1 {
		wrongNumber(p, "config|get")
		return
	}
	var found [][2]string
	for _, c := range configured {
		if slices.ContainsFunc(args[1:], func(pattern string) bool {
			ok, err := path.Match(strings.ToLower(pattern), c[0])
			return ok && err == nil
		}) {
			found = append(found, c)
		}
	}
	p.WriteMapLen(len(found))
	for _, c := range found {
		p.WriteBulk(c[0])
		p.WriteBulk(c[1])
	}
}
