// Package metrics serves what a recorder counts over HTTP, to Prometheus.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/redlock/metrics"
)

// An AddressError says that an address is none.
type AddressError struct{ Address string }

func (e *AddressError) Error() string {
	return fmt.Sprintf("%q: want host:port or :port, with a port from 0 to 65535", e.Address)
}

const (
	requestTimeout = 10 * time.Second
	closeTimeout   = time.Second // for a scrape that is under way
)

// A Server answers scrapes at /metrics.
type Server struct {
	listener net.Listener
	http     *http.Server
	stop     func() bool   // watching the context
	done     chan struct{} // closed when the goroutine has ended
}

// Serve answers scrapes of what the recorder counts at addr, host:port or :port,
// until ctx ends or Close is called; port 0 takes one that is free. It does not
// block. The error is an *AddressError, or that of the system where the port
// cannot be had. Close the server in any case.
func Serve(ctx context.Context, addr string, recorder *metrics.Recorder) (*Server, error) {
	if _, port, err := net.SplitHostPort(addr); err != nil || !isPort(port) {
		return nil, &AddressError{addr}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", recorder)
	s := &Server{
		listener: listener,
		http: &http.Server{
			Handler: mux, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, IdleTimeout: time.Minute,
			MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0), // standard error is the command's
		},
		done: make(chan struct{}),
	}
	go func() { // owned by the server: Close waits for it
		defer close(s.done)
		_ = s.http.Serve(listener) // ends with ErrServerClosed
	}()
	s.stop = context.AfterFunc(ctx, func() { _ = s.http.Close() })
	return s, nil
}

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && n <= 65535
}

// Close ends the server. It waits for scrapes that are under way, for a second
// at the most. It may be called again.
func (s *Server) Close() {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = s.http.Close()
	}
	<-s.done
}
