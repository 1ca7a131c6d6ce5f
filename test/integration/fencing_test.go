package integration

import (
	"strings"

	"github.com/gomodule/redigo/redis"
)

const fencePrefix = "redquorum:fence:1:"

// dropFences deletes what outlives fenced locks. It does so after clients that are opened later
// have been closed.
func (p *processes) dropFences() {
	p.t.Cleanup(func() {
		p.each(func(i int) {
			names, err := redis.Values(p.do(i, "KEYS", "redquorum:*:1:*"), nil)
			if err != nil {
				p.t.Error(err)
			}
			for _, name := range names {
				if s, ok := name.([]byte); ok && (strings.HasPrefix(string(s), fencePrefix) || strings.HasPrefix(string(s), "redquorum:lease:1:")) {
					p.do(i, "DEL", s)
				}
			}
		})
	})
}
