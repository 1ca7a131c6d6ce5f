package pipeline

import (
	"fmt"
	"strconv"
)

// AppendCommand appends a command as RESP has it, an array of bulk strings.
// Arguments are strings, byte slices and integers; others are written as fmt
// prints them.
//
// A round sends the same bytes to every master, so it encodes them once; through
// redigo's Send every connection encoded them anew, which was a sixth of what a
// pair of lock and unlock cost.
func AppendCommand(dst []byte, cmd string, args ...any) []byte {
	dst = appendHeader(dst, '*', 1+len(args))
	return AppendArgs(appendString(dst, cmd), args...)
}

// AppendArgs appends arguments as AppendCommand does, for commands that are put
// together.
func AppendArgs(dst []byte, args ...any) []byte {
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			dst = appendString(dst, v)
		case []byte:
			dst = appendHeader(dst, '$', len(v))
			dst = append(append(dst, v...), crlf...)
		case int:
			dst = appendInt(dst, int64(v))
		case int64:
			dst = appendInt(dst, v)
		default:
			dst = appendString(dst, fmt.Sprint(v))
		}
	}
	return dst
}

// AppendArray appends the head of a command of n arguments, its name included,
// for commands that are put together by AppendBulk.
func AppendArray(dst []byte, n int) []byte { return appendHeader(dst, '*', n) }

// AppendBulk appends one argument, made of parts that need not be joined first.
func AppendBulk(dst []byte, parts ...string) []byte {
	n := 0
	for _, s := range parts {
		n += len(s)
	}
	dst = appendHeader(dst, '$', n)
	for _, s := range parts {
		dst = append(dst, s...)
	}
	return append(dst, crlf...)
}

const crlf = "\r\n"

func appendHeader(dst []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(dst, kind), int64(n), 10), crlf...)
}

func appendString(dst []byte, s string) []byte {
	return append(append(appendHeader(dst, '$', len(s)), s...), crlf...)
}

func appendInt(dst []byte, n int64) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	return append(append(appendHeader(dst, '$', len(text)), text...), crlf...)
}
