package redlockotel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	redlockotel "github.com/redquorum/redquorum/contrib/otel"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

// A bench is a client whose spans and metrics are kept in memory.
type bench struct {
	t         *testing.T
	cluster   *redlocktest.Cluster
	client    *redlock.Client
	spans     *tracetest.InMemoryExporter
	tracer    trace.Tracer
	reader    *sdkmetric.ManualReader
	telemetry *redlockotel.Telemetry
}

func inBubble(t *testing.T, test func(t *testing.T, b *bench), opts ...redlockotel.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newBench(t, opts)) })
}

func newBench(t *testing.T, opts []redlockotel.Option) *bench {
	t.Helper()
	b := &bench{t: t, cluster: redlocktest.StartInBubble(t, 3), spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(b.spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.reader))
	b.tracer = provider.Tracer("test")
	telemetry, err := redlockotel.New(append([]redlockotel.Option{redlockotel.WithTracerProvider(provider), redlockotel.WithMeterProvider(meters)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	b.telemetry = telemetry
	b.client, err = b.cluster.Open(redlock.WithTrace(telemetry.Trace()), redlock.WithLogger(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.client.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// named returns the spans of a name that have ended, oldest first.
func (b *bench) named(name string) []tracetest.SpanStub {
	var found []tracetest.SpanStub
	for _, s := range b.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(x, y tracetest.SpanStub) int { return x.StartTime.Compare(y.StartTime) })
	return found
}

func (b *bench) only(name string) tracetest.SpanStub {
	b.t.Helper()
	found := b.named(name)
	if len(found) != 1 {
		b.t.Fatalf("%d spans %s: want one", len(found), name)
	}
	return found[0]
}

func text(attrs []attribute.KeyValue) string {
	var b strings.Builder
	for _, a := range attrs {
		fmt.Fprintf(&b, " %s=%s", a.Key, a.Value.String())
	}
	return b.String() + " "
}

func (b *bench) wantAttributes(s *tracetest.SpanStub, wanted ...string) {
	b.t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text(s.Attributes), " "+want+" ") {
			b.t.Errorf("%s: %s: want %s", s.Name, text(s.Attributes), want)
		}
	}
}

func (b *bench) wantParent(s *tracetest.SpanStub, parent trace.SpanContext) {
	b.t.Helper()
	if s.Parent.SpanID() != parent.SpanID() || s.SpanContext.TraceID() != parent.TraceID() {
		b.t.Errorf("%s is below %v, want %v", s.Name, s.Parent.SpanID(), parent.SpanID())
	}
}

func (b *bench) wantLink(s *tracetest.SpanStub, to trace.SpanContext) {
	b.t.Helper()
	if len(s.Links) != 1 || !s.Links[0].SpanContext.Equal(to) {
		b.t.Errorf("%s links to %v, want %v", s.Name, s.Links, to)
	}
}

func TestALockHasSpansForTheCallTheHoldAndTheRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		ctx, outer := b.tracer.Start(t.Context(), "request")
		l, err := b.client.Lock(ctx, "key")
		if err != nil {
			t.Fatal(err)
		}
		outer.End() // the hold outlives the request
		later, release := b.tracer.Start(t.Context(), "later")
		if err := errors.Join(l.Extend(later), l.Unlock(later)); err != nil {
			t.Fatal(err)
		}

		acquire, attempt := b.only("redlock.acquire"), b.only("redlock.attempt")
		hold, unlock, extend := b.only("redlock.hold"), b.only("redlock.unlock"), b.only("redlock.extend")
		b.wantParent(&acquire, outer.SpanContext())
		b.wantAttributes(&acquire, "redlock.key=key", "redlock.operation=lock", "redlock.once=false", "redlock.attempts=1", "redlock.result=acquired")
		b.wantParent(&attempt, acquire.SpanContext)
		b.wantAttributes(&attempt, "redlock.attempt=1", "redlock.masters.needed=2", "redlock.result=acquired")
		b.wantParent(&hold, outer.SpanContext())
		b.wantLink(&hold, acquire.SpanContext)
		b.wantAttributes(&hold, "redlock.key=key", "redlock.end=unlocked", "redlock.renewals=0")
		b.wantParent(&unlock, release.SpanContext())
		b.wantLink(&unlock, hold.SpanContext)
		b.wantAttributes(&unlock, "redlock.key=key", "redlock.result=released", "redlock.masters.needed=2")
		b.wantParent(&extend, release.SpanContext())
		b.wantAttributes(&extend, "redlock.result=ok")
		if len(attempt.Events) != 3 {
			t.Errorf("%d masters are told of: want 3", len(attempt.Events))
		}
		for _, s := range []tracetest.SpanStub{acquire, attempt, hold, unlock, extend} {
			if s.EndTime.Before(s.StartTime) || s.Status.Code != codes.Unset {
				t.Errorf("%s: from %v to %v, %v", s.Name, s.StartTime, s.EndTime, s.Status)
			}
		}
		if attempt.StartTime.Before(acquire.StartTime) || attempt.EndTime.After(acquire.EndTime) {
			t.Error("the attempt is not within the call")
		}
	})
}

func TestWaitingHasASpanForEachPause(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		const owner = "billing"
		if _, err := b.client.Lock(t.Context(), "key", redlock.WithOwner(owner)); err != nil {
			t.Fatal(err)
		}
		b.spans.Reset()
		ctx, outer := b.tracer.Start(t.Context(), "request")
		_, err := b.client.Lock(ctx, "key", redlock.WithTries(3), redlock.WithBackoff(func(int) time.Duration { return 20 * time.Millisecond }))
		if !errors.Is(err, redlock.ErrTaken) {
			t.Fatal(err)
		}
		acquire, attempts, waits := b.only("redlock.acquire"), b.named("redlock.attempt"), b.named("redlock.wait")
		b.wantParent(&acquire, outer.SpanContext())
		b.wantAttributes(&acquire, "redlock.attempts=3", "redlock.result=taken")
		if len(attempts) != 3 || len(waits) != 2 || len(b.named("redlock.hold")) != 0 {
			t.Fatalf("%d attempts, %d pauses, %d holds", len(attempts), len(waits), len(b.named("redlock.hold")))
		}
		for i := range waits {
			b.wantParent(&waits[i], acquire.SpanContext)
			if waits[i].StartTime.Before(attempts[i].EndTime) || waits[i].EndTime.After(attempts[i+1].StartTime) || waits[i].EndTime.Sub(waits[i].StartTime) != 20*time.Millisecond {
				t.Errorf("pause %d from %v to %v, attempts %v to %v", i, waits[i].StartTime, waits[i].EndTime, attempts[i].EndTime, attempts[i+1].StartTime)
			}
		}
		b.wantAttributes(&acquire, "redlock.holder="+owner)
		b.wantAttributes(&attempts[2], "redlock.holder="+owner)
		if acquire.Status.Code != codes.Unset {
			t.Errorf("that the lock is taken counts as a failure: %v", acquire.Status)
		}
	})
}

func TestALossShowsInTheSpanOfTheHold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		l, err := b.client.Lock(t.Context(), "key", redlock.WithTTL(500*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		b.cluster.Kill(0)
		b.cluster.Kill(1)
		<-l.Context().Done()
		synctest.Wait()
		hold := b.only("redlock.hold")
		b.wantAttributes(&hold, "redlock.end=lost", "redlock.reason=unreachable")
		if hold.Status.Code != codes.Error || len(hold.Events) == 0 || hold.Events[0].Name != "redlock.renewal_failed" {
			t.Errorf("%v, %v", hold.Status, hold.Events)
		}
		_, err = b.client.TryLock(t.Context(), "other")
		if !errors.Is(err, redlock.ErrNoQuorum) {
			t.Fatal(err)
		}
		calls := b.named("redlock.acquire")
		if failed := calls[len(calls)-1]; failed.Status.Code != codes.Error {
			t.Errorf("an outage does not show: %v", failed.Status)
		}
	})
}

func TestUnlockSpanOfALostLockIsNoError(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		l, err := b.client.Lock(t.Context(), "key", redlock.WithLease(50*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		<-l.Context().Done()
		if err := l.Unlock(t.Context()); !errors.Is(err, redlock.ErrNotHeld) {
			t.Fatal(err)
		}
		unlock := b.only("redlock.unlock")
		b.wantAttributes(&unlock, "redlock.result=not_held")
		if unlock.Status.Code == codes.Error {
			t.Errorf("the status is %v", unlock.Status)
		}
	})
}

func TestKeysAreNamedAsTheProgramWants(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		l, err := b.client.LockAll(t.Context(), []string{"alice", "bob"})
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Unlock(t.Context())
		acquire := b.only("redlock.acquire")
		b.wantAttributes(&acquire, "redlock.key=hidden", `redlock.keys=["hidden","hidden"]`)
		for _, s := range b.spans.GetSpans() {
			if all := text(s.Attributes); strings.Contains(all, "alice") || strings.Contains(all, "bob") {
				t.Errorf("%s:%s", s.Name, all)
			}
		}
	}, redlockotel.WithKeyNames(func(string) string { return "hidden" }))
}

func TestTokensAreNotExported(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		trace := b.telemetry.Trace()
		held := &redlock.Holder{Type: "string", Token: "the-token", Owner: "billing"}
		ctx := trace.Begin(t.Context(), redlock.BeginInfo{Op: "lock"})
		trace.Node(redlock.NodeInfo{Op: "lock", Token: "the-token", Err: held, Context: ctx})
		trace.Attempt(redlock.AttemptInfo{Token: "the-token", Err: held, Context: ctx})
		trace.Wait(redlock.WaitInfo{Err: held, Context: ctx})
		all := fmt.Sprintf("%+v", b.spans.GetSpans())
		if !strings.Contains(all, "billing") || strings.Contains(all, "the-token") {
			t.Error(all)
		}
	})
}
