package redlock

import "context"

// JoinTraces is a trace that calls each of traces, in their order; nil ones are left
// out. A function that none of them has is nil, and costs nothing. In Begin and Held
// each trace gets the context that the one before it made.
func JoinTraces(traces ...*Trace) *Trace {
	joined := &Trace{}
	for _, t := range traces {
		if t == nil {
			continue
		}
		joined.Begin = chain(joined.Begin, t.Begin)
		joined.Attempt = both(joined.Attempt, t.Attempt)
		joined.Node = both(joined.Node, t.Node)
		joined.Reply = both(joined.Reply, t.Reply)
		joined.Retry = both(joined.Retry, t.Retry)
		joined.Clock = both(joined.Clock, t.Clock)
		joined.Wait = both(joined.Wait, t.Wait)
		joined.Held = chain(joined.Held, t.Held)
		joined.Renewal = both(joined.Renewal, t.Renewal)
		joined.Extend = both(joined.Extend, t.Extend)
		joined.Lost = bothOfTwo(joined.Lost, t.Lost)
		joined.Released = both(joined.Released, t.Released)
		joined.Unlock = both(joined.Unlock, t.Unlock)
	}
	return joined
}

func both[T any](a, b func(T)) func(T) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(info T) { a(info); b(info) }
}

func bothOfTwo[T, U any](a, b func(T, U)) func(T, U) {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(t T, u U) { a(t, u); b(t, u) }
}

func chain[T any](a, b func(context.Context, T) context.Context) func(context.Context, T) context.Context {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(ctx context.Context, info T) context.Context {
		made := a(ctx, info)
		inner := made
		if inner == nil {
			inner = ctx
		}
		if last := b(inner, info); last != nil {
			return last
		}
		return made
	}
}
