package redistest

import (
	"strings"
	"testing"
)

func TestAClusterThatCannotStartLeavesNothing(t *testing.T) {
	needRedis(t)
	dir := temporary(t)
	_, err := LaunchN(background(t), 3, Config{Args: []string{"--no-such-directive", "1"}})
	if err == nil || strings.Count(err.Error(), "the end of its log") != 3 {
		t.Errorf("got %v; want three causes", err)
	}
	mustBeEmpty(t, dir)
}
