// Package script holds the Lua scripts that the library runs on a master, each in a file
// of its own, and makes the arguments of EVALSHA and EVAL for them.
package script

import (
	"crypto/sha1" //nolint:gosec // the digest that Redis names scripts by
	_ "embed"
	"encoding/hex"
	"strings"
)

// A Script is one Lua script.
type Script struct {
	Name   string
	Source string
	SHA    string // SHA-1 of Source in hexadecimal, for EVALSHA

	sha, source any // boxed once: arguments are passed as interfaces
}

//go:embed release.lua
var releaseSource string

//go:embed extend.lua
var extendSource string

//go:embed verify.lua
var verifySource string

//go:embed holder.lua
var holderSource string

//go:embed reader_acquire.lua
var readerAcquireSource string

//go:embed reader_extend.lua
var readerExtendSource string

//go:embed reader_verify.lua
var readerVerifySource string

//go:embed reader_release.lua
var readerReleaseSource string

//go:embed writer_intent.lua
var writerIntentSource string

//go:embed inspect.lua
var inspectSource string

//go:embed queue.lua
var queueSource string

// The scripts. Their files say which keys and arguments they take and what they return.
var (
	Release = newScript("release", releaseSource)
	Extend  = newScript("extend", extendSource)
	Verify  = newScript("verify", verifySource)
	Holder  = newScript("holder", withHeld(holderSource))
	Inspect = newScript("inspect", inspectSource)
	Queue   = newScript("queue", withHandOver(withHeld(queueSource)))

	// Scripts for read-write locks; the writer is the plain lock.
	ReaderAcquire = newScript("reader_acquire", withReaders(readerAcquireSource))
	ReaderExtend  = newScript("reader_extend", withReaders(readerExtendSource))
	ReaderVerify  = newScript("reader_verify", readerVerifySource)
	ReaderRelease = newScript("reader_release", withReaders(readerReleaseSource))
	WriterIntent  = newScript("writer_intent", writerIntentSource)
)

// All has every script of this package, in no particular order.
var All = append([]*Script{
	Release, Extend, Verify, Holder, Inspect, Queue,
	AcquireAll, ExtendAll, VerifyAll, ReleaseAll, ReleaseSet, HolderAmong,
	ReaderAcquire, ReaderExtend, ReaderVerify, ReaderRelease, WriterIntent,
	ReleaseBatch, ReleaseLeases, AcquireBatch,
	ReadersQueue, ReaderHandOver, GuardedReaderHandOver,
}, guarded...)

func newScript(name, source string) *Script {
	source = bare(source)
	s := &Script{Name: name, Source: source, SHA: SHA(source)}
	s.sha, s.source = s.SHA, s.Source
	return s
}

// bare leaves out indentation and lines that are comments, so that less is sent to each new
// master and parsed there. The other lines keep their numbers, which masters name in errors.
func bare(source string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		if line = strings.TrimLeft(line, " "); strings.HasPrefix(line, "--") {
			line = "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// SHA returns the name that Redis gives to a script: the SHA-1 of its source.
func SHA(source string) string {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// Args appends the arguments of EVALSHA to dst.
func (s *Script) Args(dst []any, keys []string, args ...any) []any {
	dst = append(dst, s.sha, len(keys))
	for _, key := range keys {
		dst = append(dst, key)
	}
	return append(dst, args...)
}

// EvalArgs returns the arguments of EVAL for those of EVALSHA, in a new slice.
func (s *Script) EvalArgs(args []any) []any {
	eval := append([]any(nil), args...)
	eval[0] = s.source
	return eval
}
