package integration

import (
	"strings"

	"github.com/gomodule/redigo/redis"
)

// clientIDs are the connections that the library has to a master, by the name
// that it gives them.
func (m *masters) clientIDs(i int) map[string]bool {
	m.t.Helper()
	ids := make(map[string]bool)
	for _, fields := range m.clientList(i) {
		if fields["name"] == "redquorum" {
			ids[fields["id"]] = true
		}
	}
	return ids
}

// clientList is what CLIENT LIST says of each connection, by the name of the
// field.
func (m *masters) clientList(i int) []map[string]string {
	m.t.Helper()
	text, err := redis.String(m.command(i, "CLIENT", "LIST"))
	if err != nil {
		m.t.Fatalf("master %d: CLIENT LIST: %v", i, err)
	}
	var list []map[string]string
	for line := range strings.Lines(text) {
		fields := make(map[string]string)
		for _, field := range strings.Fields(line) {
			name, value, _ := strings.Cut(field, "=")
			fields[name] = value
		}
		list = append(list, fields)
	}
	return list
}
