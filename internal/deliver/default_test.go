package deliver

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// setDefault makes a buffer the program's log for the duration of the test.
func setDefault(t *testing.T, level slog.Level) *bytes.Buffer {
	t.Helper()
	var buf bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: level})))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &buf
}

func TestWarningsGoToTheLoggerThatIsTheDefaultWhenTheyAreLogged(t *testing.T) {
	log := Warnings() // older than the logger that is set
	first := setDefault(t, slog.LevelDebug)
	log.Debug("no")
	log.Info("no")
	log.Warn("one", "key", "a")
	second := setDefault(t, slog.LevelDebug)
	log.With("by", "me").WithGroup("group").Error("two", "key", "b")
	if got := first.String(); !strings.Contains(got, `level=WARN msg=one key=a`) || strings.Count(got, "\n") != 1 {
		t.Errorf("the first default got %q", got)
	}
	if got := second.String(); !strings.Contains(got, `level=ERROR msg=two by=me group.key=b`) || strings.Count(got, "\n") != 1 {
		t.Errorf("the second default got %q", got)
	}
}

func TestADefaultLoggerThatTakesNoWarningsGetsNone(t *testing.T) {
	buf := setDefault(t, slog.LevelError)
	Warnings().Warn("one")
	slog.SetDefault(slog.New(slog.DiscardHandler))
	Warnings().Error("two")
	if buf.Len() != 0 {
		t.Errorf("%q", buf)
	}
}
