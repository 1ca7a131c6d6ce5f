package pipeline

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// A silenceError is a handshake that failed before the master had said a
// single byte.
type silenceError struct{ error }

func (e *silenceError) Unwrap() error { return e.error }

const (
	// probeTimeout bounds one look at what a silent master speaks.
	probeTimeout = 250 * time.Millisecond
	// probeEvery is at which failures in a row it is looked at: a master that
	// is frozen is not to be asked with every dial.
	probeEvery = 16
)

// explain finds out whether a master that answered nothing was spoken to in
// the wrong way. Redis hangs up on plain commands where it expects TLS, and
// waits for the end of what it takes for a command where it is sent a TLS
// handshake: neither says what is wrong. What it finds out holds until the next
// look, or until a dial ends otherwise.
func (p *Pipeline) explain(ctx context.Context, err error, failures int) error {
	var silence *silenceError
	isSilence := errors.As(err, &silence)
	if isSilence {
		err = silence.error
	}
	plain := p.cfg.TLS == nil && errors.Is(err, ErrConnectionLost)
	inTLS := p.cfg.TLS != nil && errors.Is(err, ErrTimeout)
	if !isSilence || !plain && !inTLS || p.cfg.Network == "unix" {
		p.explained = nil
		return err
	}
	if failures%probeEvery == 1 {
		p.explained = nil
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		switch {
		case plain && p.probe(ctx, answersTLS):
			p.explained = &ConfigError{What: "handshake", Err: errors.New("the master speaks TLS: use a rediss:// URL")}
		case inTLS && p.probe(ctx, answersPlainly):
			p.explained = &ConfigError{What: "TLS handshake", Err: errors.New("the master does not speak TLS: use a redis:// URL")}
		}
	}
	if p.explained != nil {
		return p.explained
	}
	return err
}

// probe makes a connection for one look.
func (p *Pipeline) probe(ctx context.Context, look func(context.Context, net.Conn) bool) bool {
	conn, err := p.cfg.Dialer(ctx, p.cfg.Network, p.cfg.Addr)
	if err != nil {
		return false
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	return look(ctx, conn)
}

// answersTLS offers a handshake. Nothing is sent over it, so it does not matter
// who answers; an alert is an answer too.
func answersTLS(ctx context.Context, conn net.Conn) bool {
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) //nolint:gosec // see above
	return err == nil || alerted(err)
}

// answersPlainly sends a PING, which everybody may, and which Redis answers
// even where it wants a password first.
func answersPlainly(_ context.Context, conn net.Conn) bool {
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return false
	}
	var first [1]byte
	_, err := io.ReadFull(conn, first[:])
	return err == nil && (first[0] == '+' || first[0] == '-')
}
