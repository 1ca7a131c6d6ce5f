package redistest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// layout says where the files of one server are. All are below root, except a socket
// whose path would be too long there.
type layout struct {
	root      string // removed by Close
	socketDir string // removed by Close; root, or a shorter one
}

func (l layout) file(name string) string { return filepath.Join(l.root, name) }
func (l layout) data() string            { return l.file("data") }
func (l layout) socket() string          { return filepath.Join(l.socketDir, "s") }

// maxSocketPath is what sun_path holds on every system, without the final zero:
// 107 on Linux, 103 on the BSDs.
const maxSocketPath = 103

// newLayout makes the directories; after an error none is left.
func newLayout(unixSocket bool) (_ layout, err error) {
	root, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return layout{}, err
	}
	l := layout{root: root, socketDir: root}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.remove())
		}
	}()
	if err := os.Mkdir(l.data(), 0o700); err != nil {
		return layout{}, err
	}
	if unixSocket && len(l.socket()) > maxSocketPath {
		// A test's TMPDIR may have any length.
		short, err := os.MkdirTemp("/tmp", "rt")
		if err != nil {
			return layout{}, fmt.Errorf("a directory short enough for a unix socket: %w", err)
		}
		l.socketDir = short
	}
	return l, nil
}

func (l layout) remove() error {
	return errors.Join(os.RemoveAll(l.socketDir), os.RemoveAll(l.root))
}

// emptyData removes the data set with everything else in the data directory.
func (l layout) emptyData() error {
	if err := os.RemoveAll(l.data()); err != nil {
		return err
	}
	return os.Mkdir(l.data(), 0o700)
}

// logTail is how much of the end of a log is shown, in bytes.
const logTail = 4096

// log returns the end of what the server has written, over all its runs.
func (l layout) log() string {
	log, err := os.ReadFile(l.file("log"))
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	return string(log[max(0, len(log)-logTail):])
}
