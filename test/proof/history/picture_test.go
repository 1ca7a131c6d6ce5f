package history

import (
	"os"
	"testing"
)

// removePictures removes what violations that were wanted have written.
func removePictures(t *testing.T, found []Violation) {
	t.Helper()
	for _, v := range found {
		content, err := os.ReadFile(v.File)
		if err != nil || len(content) < 1000 {
			t.Errorf("%s: %d bytes, %v", v.File, len(content), err)
		}
		_ = os.Remove(v.File)
	}
}
