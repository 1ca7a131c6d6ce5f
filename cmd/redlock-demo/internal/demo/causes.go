package demo

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// cause is an error of one master in few words, at most 60 characters.
func cause(err error) string {
	if h, ok := errors.AsType[*redlock.HeldError](err); ok {
		switch {
		case h.Owner != "":
			return "held by " + h.Owner
		case h.Own:
			return "held by this client"
		}
		return "held by another"
	}
	if why, ok := errors.AsType[*redlock.AbstainError](err); ok && why.Cause != redlock.AbstainNotConnected {
		if why.Left > 0 {
			return fmt.Sprintf("%v for %v more", why.Cause, why.Left.Round(time.Second/10))
		}
		return shortened(fmt.Sprintf("%v: %v", why.Cause, why))
	}
	var config *pool.ConfigError
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case err == nil:
		return "not connected yet"
	case errors.As(err, &config):
		return shortened(config.Error())
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to it"
	case errors.Is(err, pool.ErrStalled):
		return pool.ErrStalled.Error()
	case errors.Is(err, pool.ErrTimeout):
		return pool.ErrTimeout.Error()
	case errors.As(err, &dns):
		return shortened(dns.Err)
	case errors.As(err, &op):
		return shortened(op.Err.Error())
	default:
		return shortened(err.Error())
	}
}

const causeWidth = 60

func shortened(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > causeWidth {
		return string(runes[:causeWidth-1]) + "…"
	}
	return s
}

// causes is what each master contributed to a refusal. One that is not named in
// it agreed.
func causes(err *redlock.QuorumError, masters []Master) []Master {
	list := make([]Master, len(masters))
	for i, m := range masters {
		list[i] = Master{Address: m.Address, State: stateAgreed}
	}
	for node := range err.NodeErrors() {
		if i := slices.IndexFunc(list, func(m Master) bool { return m.Address == node.Master }); i >= 0 {
			list[i].State, list[i].Cause = stateFailed, cause(node.Err)
			if errors.Is(node.Err, redlock.ErrNotAwaited) {
				list[i].State, list[i].Cause = stateMoot, "up, but could not change that"
			}
		}
	}
	return list
}

// explained counts the masters that are gone and whose cause is given.
func explained(causes, masters []Master) int {
	n := 0
	for i, m := range masters {
		if m.State == stateGone && causes[i].State == stateFailed && causes[i].Cause != "" {
			n++
		}
	}
	return n
}
