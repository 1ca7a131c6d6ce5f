package fidelity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// inWords returns a reply as text. Two texts are the same exactly if the replies count as the
// same. Of an error it has only the code.
func inWords(reply any) string {
	switch r := reply.(type) {
	case nil:
		return "nil"
	case int64:
		return strconv.FormatInt(r, 10)
	case string:
		return "+" + r
	case []byte:
		return strconv.Quote(number(string(r)))
	case redis.Error:
		return "error " + redistest.Code(r)
	case []any:
		parts := make([]string, len(r))
		for i := range r {
			parts[i] = inWords(r[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return fmt.Sprintf("%T %v", reply, reply)
	}
}

// number gives numbers with a fraction, an exponent or more than 17 digits in their
// shortest form, and anything else as it is. Redis 7.2 began to write 1e+300 for what
// was 1.0000000000000001e+300 before, and the simulation writes no exponents where
// Redis does. Redis before 7.0 writes a score of -0 with its sign.
func number(s string) string {
	if s == "-0" {
		return "0"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err == nil && (strings.ContainsAny(s, ".e") || len(strings.TrimLeft(s, "-")) > 17) && !strings.ContainsAny(s, "xp_") {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return s
}

// inFull is inWords for people, with the text of errors.
func inFull(reply any) string {
	if r, ok := reply.(redis.Error); ok {
		return "error " + string(r)
	}
	return inWords(reply)
}

// sorted sorts what has no order: the members of a set, or the fields of a hash with their values.
func sorted(reply any, inPairs bool) any {
	parts, ok := reply.([]any)
	if !ok {
		return reply
	}
	var words []string
	for i := 0; i < len(parts); i++ {
		word := inWords(parts[i])
		if inPairs && i+1 < len(parts) {
			i++
			word += "=" + inWords(parts[i])
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// differences lists the keys at which two masters differ, with both values.
func differences(has, simulated map[string]string) (all []string) {
	for key, value := range has {
		if other, ok := simulated[key]; !ok {
			all = append(all, fmt.Sprintf("%s: real %s, simulated nothing", key, value))
		} else if other != value {
			all = append(all, fmt.Sprintf("%s: real %s, simulated %s", key, value, other))
		}
	}
	for key, value := range simulated {
		if _, ok := has[key]; !ok {
			all = append(all, fmt.Sprintf("%s: real nothing, simulated %s", key, value))
		}
	}
	slices.Sort(all)
	return all
}
