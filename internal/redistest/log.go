package redistest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// logTail is how much of the end of a log is shown, in bytes.
const logTail = 4096

// Log returns the end of what the server has written, up to 4 KiB over all its
// runs; after Close, as it was then. A log that cannot be read shows as the
// reason why.
func (s *Server) Log() string {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	if s.finalLog != "" {
		return s.finalLog
	}
	return readTail(s.files.log(), 0)
}

// keepLog reads the log for the last time, before its file is removed.
func (s *Server) keepLog() {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	if s.finalLog == "" {
		s.finalLog = readTail(s.files.log(), 0)
	}
}

// openLog opens the log for one more run, and says where that run begins.
func openLog(path string) (f *os.File, start int64, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// readTail returns the end of the file from start on, in whole lines where it
// has to leave something out.
func readTail(path string, start int64) string {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	info, err := f.Stat()
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	from := max(start, info.Size()-logTail)
	data, err := io.ReadAll(io.NewSectionReader(f, from, logTail))
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	tail := string(data)
	if from > start {
		_, tail, _ = strings.Cut(tail, "\n")
	}
	if tail == "" {
		return "(empty)"
	}
	return tail
}
