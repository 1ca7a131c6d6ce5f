package job

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redquorum/redquorum/internal/testutil"
)

// withoutFirstThread is a variable: this program ends its first thread and goes on in others.
const withoutFirstThread = "JOB_TEST_WITHOUT_FIRST_THREAD"

func init() { // runs on the first thread
	if os.Getenv(withoutFirstThread) == "" {
		return
	}
	runtime.LockOSThread()
	go func() {
		time.Sleep(50 * time.Millisecond)
		_, _ = os.Stdout.WriteString("works\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}()
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

func TestAProcessWithoutItsFirstThreadHasNotEnded(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), withoutFirstThread+"=yes")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "works\n" {
		t.Fatal(line, err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	p, err := processOf(pid)
	if err != nil || p.pid != cmd.Process.Pid || p.parent != os.Getpid() {
		t.Errorf("%+v, %v", p, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "a zombie has ended", func() bool {
		_, err := processOf(pid)
		return errors.Is(err, syscall.ESRCH)
	})
	if p.alive() {
		t.Error("it is alive")
	}
	_ = cmd.Wait()
}

// While processes cannot be listed, some may still run. A look without them would let them go on
// without the lock.
func TestLookWithoutAFreeDescriptorReturnsAnUnknownProcess(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	f := newFamily()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	here, _ := f.look(-1)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if len(here) != 1 || here[0].pid != 0 || !strings.Contains(listOf(here), syscall.EMFILE.Error()) {
		t.Errorf("it finds %q", listOf(here))
	}
	if here, left := f.look(-1); here != nil || left != nil {
		t.Errorf("then it finds %v, %v", here, left)
	}
}
