package stage

import (
	"os"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/leftover"
)

// TestMain fails the run when goroutines are left behind.
func TestMain(m *testing.M) { os.Exit(leftover.Run(m.Run, 5*time.Second)) }
