package metrics_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	served "github.com/redquorum/redquorum/cmd/redlock-demo/internal/metrics"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/metrics"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestAScrapeGetsWhatIsCounted(t *testing.T) {
	before := runtime.NumGoroutine()
	recorder := metrics.New()
	s, err := served.Serve(t.Context(), "127.0.0.1:0", recorder)
	if err != nil {
		t.Fatal(err)
	}
	recorder.Trace().Attempt(redlock.AttemptInfo{})
	if code, body := get(t, "http://"+s.Addr()+"/metrics"); code != 200 || !strings.Contains(body, `redlock_attempts_total{result="acquired"} 1`) {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := get(t, "http://"+s.Addr()+"/"); code != 404 {
		t.Errorf("elsewhere: %d", code)
	}
	s.Close()
	s.Close()
	if code, body := get(t, "http://"+s.Addr()+"/metrics"); code != 0 {
		t.Errorf("after Close: %d %s", code, body)
	}
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("goroutines are left behind")
		}
	}
}

func TestTheServerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := served.Serve(ctx, "127.0.0.1:0", metrics.New())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if code, _ := get(t, "http://"+s.Addr()+"/metrics"); code == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it goes on")
		}
	}
}

// A scraper that says nothing does not hold up the end.
func TestCloseIsBounded(t *testing.T) {
	s, err := served.Serve(t.Context(), "127.0.0.1:0", metrics.New())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /metrics HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.Close()
	if took := time.Since(began); took > 5*time.Second { // the requests' own timeout is 10 s
		t.Errorf("took %v", took)
	}
}

func TestAddressesThatAreNoneAreRefused(t *testing.T) {
	for _, addr := range []string{"", "9121", "localhost", ":x", ":-1", ":65536", "a:b:1"} {
		s, err := served.Serve(t.Context(), addr, metrics.New())
		if err == nil {
			s.Close()
		}
		if refused, ok := errors.AsType[*served.AddressError](err); !ok || refused.Address != addr {
			t.Errorf("%q: %v", addr, err)
		}
	}
	taken, err := served.Serve(t.Context(), "127.0.0.1:0", metrics.New())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if s, err := served.Serve(t.Context(), taken.Addr(), metrics.New()); err == nil || errors.As(err, new(*served.AddressError)) {
		if s != nil {
			s.Close()
		}
		t.Errorf("a port that is taken: %v", err)
	}
}
