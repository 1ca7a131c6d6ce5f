package history

import (
	"os"
	"strings"
	"testing"
)

// removePictures removes what violations that were wanted have written.
func removePictures(t *testing.T, found []Violation) {
	t.Helper()
	for _, v := range found {
		_, file, ok := strings.Cut(v.Text, "; see ")
		if !ok {
			t.Errorf("no picture: %v", v)
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil || len(content) < 1000 {
			t.Errorf("%s: %d bytes, %v", file, len(content), err)
		}
		_ = os.Remove(file)
	}
}
