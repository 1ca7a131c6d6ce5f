package redistest

import (
	"context"
	_ "embed" // the shim's source
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"
)

// libfaketime would do the same, but redis-server 7 hangs under it.
//
//go:embed shim/clock.c
var shimSource []byte

// compileShim returns the shim as a shared object.
func compileShim() (_ []byte, err error) {
	name := os.Getenv("CC")
	if name == "" {
		name = "cc"
	}
	compiler, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("redistest: no C compiler (looked for %q): %w; install one or set CC to it", name, err)
	}
	dir, err := os.MkdirTemp("", "redistest-shim-")
	if err != nil {
		return nil, fmt.Errorf("redistest: clock shim: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	source, object := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, shimSource, 0o600); err != nil {
		return nil, fmt.Errorf("redistest: clock shim: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), compileBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, compiler, "-std=gnu11", "-O1", "-shared", "-fPIC", "-o", object, source)
	cmd.WaitDelay = versionBound
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("redistest: clock shim: %s: %w: %s", compiler, err, strings.TrimSpace(string(out)))
	}
	shim, err := os.ReadFile(object)
	if err != nil {
		return nil, fmt.Errorf("redistest: clock shim: %w", err)
	}
	return shim, nil
}

// mapPage makes a file of zeros and maps it. Writes to the file would also work, but the kernel
// does not promise that eight bytes arrive together.
func mapPage(path string) (*clockPage, func() error, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // the mapping stays
	size := int(unsafe.Sizeof(clockPage{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, nil, err
	}
	memory, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return (*clockPage)(unsafe.Pointer(unsafe.SliceData(memory))), func() error { return syscall.Munmap(memory) }, nil
}
