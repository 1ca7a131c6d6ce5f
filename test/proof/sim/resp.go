package sim

import (
	"bytes"
	"strconv"
)

// frame returns the length of the RESP value at the start of b, or 0 if it is not complete.
// Both sides send only well-formed values.
func frame(b []byte) int {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 0 {
		return 0
	}
	n := end + 2
	switch b[0] {
	case '$', '=', '!':
		length, _ := strconv.Atoi(string(b[1:end]))
		if length < 0 {
			return n
		}
		if n += length + 2; n > len(b) {
			return 0
		}
	case '*', '~', '>', '%':
		count, _ := strconv.Atoi(string(b[1:end]))
		if b[0] == '%' {
			count *= 2
		}
		for range count {
			element := frame(b[n:])
			if element == 0 {
				return 0
			}
			n += element
		}
	}
	return n
}

// words returns the bulk strings of a command.
func words(command []byte) (all []string) {
	for rest := command; ; {
		end := bytes.Index(rest, []byte("\r\n"))
		if end < 0 {
			return all
		}
		line := rest[:end]
		rest = rest[end+2:]
		if len(line) > 0 && line[0] == '$' {
			length, _ := strconv.Atoi(string(line[1:]))
			all = append(all, string(rest[:length]))
			rest = rest[length+2:]
		}
	}
}
