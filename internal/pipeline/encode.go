package pipeline

import (
	"bytes"
	"fmt"
	"strconv"
)

// AppendCommand appends a command in RESP, as an array of bulk strings. Arguments are strings, byte
// slices and integers; others are written as fmt prints them.
//
// A round sends the same bytes to every master, so it encodes them once. With redigo's Send every
// connection encoded them again. That was a sixth of the cost of a lock and its unlock.
func AppendCommand(dst []byte, cmd string, args ...any) []byte {
	dst = appendHeader(dst, '*', 1+len(args))
	return AppendArgs(appendString(dst, cmd), args...)
}

// AppendArgs appends arguments as AppendCommand does, for commands that are built in parts.
func AppendArgs(dst []byte, args ...any) []byte {
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			dst = appendString(dst, v)
		case []byte:
			dst = appendHeader(dst, '$', len(v))
			dst = append(append(dst, v...), crlf...)
		case int:
			dst = AppendInt(dst, int64(v))
		case int64:
			dst = AppendInt(dst, v)
		default:
			dst = appendString(dst, fmt.Sprint(v))
		}
	}
	return dst
}

// AppendArray appends the header of a command of n arguments, its name included, for commands that
// are built with AppendBulk.
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

// EvalOf returns an encoded EVALSHA as an EVAL with the script's source, in a new slice.
func EvalOf(evalSHA []byte, source string) []byte {
	head := bytes.IndexByte(evalSHA, '\n') + 1
	rest := evalSHA[head:]
	for range 2 { // the name and the digest
		n, behind, _ := leadingInt('$', rest)
		rest = behind[int(n)+len(crlf):]
	}
	b := make([]byte, 0, len(evalSHA)+len(source))
	b = append(b, evalSHA[:head]...)
	return append(AppendBulk(AppendBulk(b, "EVAL"), source), rest...)
}

// appendHeader appends the kind of a value and its length. Most lengths have one or two
// digits: those are written at once, in half the time.
func appendHeader(dst []byte, kind byte, n int) []byte {
	switch {
	case 0 <= n && n < 10:
		return append(dst, kind, '0'+byte(n), '\r', '\n')
	case 10 <= n && n < 100:
		return append(dst, kind, '0'+byte(n/10), '0'+byte(n%10), '\r', '\n')
	default:
		return append(strconv.AppendInt(append(dst, kind), int64(n), 10), crlf...)
	}
}

func appendString(dst []byte, s string) []byte {
	return append(append(appendHeader(dst, '$', len(s)), s...), crlf...)
}

// AppendInt is AppendBulk for a number.
func AppendInt(dst []byte, n int64) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	return append(append(appendHeader(dst, '$', len(text)), text...), crlf...)
}
