package redistest

import (
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
)

func TestAMemberOfAClusterStarts(t *testing.T) {
	member, err := Member()
	if err != nil {
		t.Fatal(err)
	}
	info, err := redis.String(start(t, member).Do("INFO", "server"))
	if err != nil || !strings.Contains(info, "_mode:cluster") {
		t.Errorf("INFO server: %v\n%s", err, info)
	}
}
