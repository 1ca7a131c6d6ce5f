package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A distanceLine is a network device that sends every packet back, with sender and
// receiver exchanged, after the delay of the destination address. A connection to such an
// address reaches this machine itself with that delay. Both ends are the kernel's own TCP,
// with its handshake, windows and acknowledgements. The checksums stay right, because
// they are sums that include both addresses.
type distanceLine struct {
	fd    int
	lines [256]atomic.Pointer[chan latePacket] // by the last byte of the address
}

type latePacket struct {
	due  int64 // of the monotonic clock, in ns
	data []byte
}

const (
	lineAddress = "10.77.0.1" // of this machine
	lineMTU     = 1500
	lineQueue   = 4096 // packets on their way; more are lost, as in any network
)

var lineIP = [4]byte{10, 77, 0, 1}

// inOwnNetwork makes a command run in its own network namespace, in which it may make
// devices. Without the right to do so the command does not start.
func inOwnNetwork(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// startDistanceLine makes the device in this process's own network, and an address for
// each round trip in far. A separate process moves the packets: in this process it would
// share Go's scheduler with the goroutines that are measured, and many of them would slow
// the network down.
func startDistanceLine(ctx context.Context, far []time.Duration) (addresses []string, stop func() error, err error) {
	c, err := inRole(ctx, "line", far)
	if err != nil {
		return nil, nil, err
	}
	in, err := c.StdinPipe() // when it closes, that process ends: also if this one is killed
	if err != nil {
		return nil, nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() error { return errors.Join(in.Close(), c.Wait()) }
	said, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(said, &addresses)
	}
	if err == nil && len(addresses) != len(far) {
		err = fmt.Errorf("the process of the line has %d addresses, want %d", len(addresses), len(far))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the process of the line: %w", errors.Join(err, stop()))
	}
	return addresses, stop, nil
}

// lineHere runs in the process that moves the packets.
func lineHere(spec string) error {
	var far []time.Duration
	if err := json.Unmarshal([]byte(spec), &far); err != nil {
		return err
	}
	line, err := openDistanceLine()
	if err != nil {
		return err
	}
	addresses := make([]string, len(far))
	for i, d := range far {
		addresses[i] = line.far(byte(i+1), d/2)
	}
	if err := json.NewEncoder(os.Stdout).Encode(addresses); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// openDistanceLine makes the device, which exists until the process ends.
func openDistanceLine() (*distanceLine, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	device, err := unix.NewIfreq("far0")
	if err != nil {
		return nil, err
	}
	device.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, device); err != nil {
		return nil, fmt.Errorf("make the device: %w", err)
	}
	if err := bringUp("lo", [4]byte{}, [4]byte{}); err != nil {
		return nil, err
	}
	if err := bringUp("far0", lineIP, [4]byte{255, 255, 0, 0}); err != nil {
		return nil, err
	}
	l := &distanceLine{fd: fd}
	go l.read()
	return l, nil
}

// bringUp gives a device an address, unless it is zero, and turns the device on.
func bringUp(name string, address, mask [4]byte) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	for _, set := range []struct {
		request uint
		value   [4]byte
	}{{unix.SIOCSIFADDR, address}, {unix.SIOCSIFNETMASK, mask}} {
		if address == ([4]byte{}) {
			continue
		}
		r, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		if err := r.SetInet4Addr(set.value[:]); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(fd, set.request, r); err != nil {
			return fmt.Errorf("address of %s: %w", name, err)
		}
	}
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r); err != nil {
		return fmt.Errorf("turn on %s: %w", name, err)
	}
	return nil
}

// far returns address number n, which it delays by oneWay in each direction.
func (l *distanceLine) far(n byte, oneWay time.Duration) string {
	line := make(chan latePacket, lineQueue)
	l.lines[n].Store(&line)
	go l.deliver(line, oneWay)
	return fmt.Sprintf("10.77.1.%d", n)
}

// read reads the packets from the device on its own thread, because it blocks in the kernel.
func (l *distanceLine) read() {
	runtime.LockOSThread()
	for {
		packet := make([]byte, lineMTU)
		n, err := unix.Read(l.fd, packet)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		// IPv4 to 10.77.1.n; nothing else is answered.
		if n < 20 || packet[0]>>4 != 4 || packet[18] != 1 {
			continue
		}
		line := l.lines[packet[19]].Load()
		if line == nil {
			continue
		}
		var from [4]byte
		copy(from[:], packet[12:16])
		copy(packet[12:16], packet[16:20])
		copy(packet[16:20], from[:])
		select {
		case *line <- latePacket{monotonic(), packet[:n]}:
		default:
		}
	}
}

// deliver writes the packets of one address when they are due. It sleeps in the kernel,
// because Go's timers come up to a millisecond late while nothing else runs.
func (l *distanceLine) deliver(line <-chan latePacket, delay time.Duration) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	for p := range line {
		at := unix.NsecToTimespec(p.due + int64(delay))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil) == unix.EINTR {
			continue
		}
		_, _ = unix.Write(l.fd, p.data) // a packet for which the kernel has no room is lost
	}
}

func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}
