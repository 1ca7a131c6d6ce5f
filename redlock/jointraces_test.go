package redlock

import (
	"context"
	"reflect"
	"testing"
)

// fullTrace has every function. Each appends name to events, and adds name to the context if it has
// one.
func fullTrace(events *[]string, name string) *Trace {
	t := &Trace{}
	v := reflect.ValueOf(t).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		what := name + " " + v.Type().Field(i).Name
		field.Set(reflect.MakeFunc(field.Type(), func(args []reflect.Value) []reflect.Value {
			*events = append(*events, what)
			if field.Type().NumOut() == 0 {
				return nil
			}
			ctx := args[0].Interface().(context.Context)
			before, _ := ctx.Value(joined{}).(string)
			return []reflect.Value{reflect.ValueOf(context.WithValue(ctx, joined{}, before+name)).Convert(field.Type().Out(0))}
		}))
	}
	return t
}

type joined struct{}

// The test finds a function of Trace that JoinTraces forgets.
func TestJoinedTracesAreAllToldEverything(t *testing.T) {
	var events []string
	v := reflect.ValueOf(JoinTraces(nil, fullTrace(&events, "a"), &Trace{}, fullTrace(&events, "b"))).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if v.Field(i).IsNil() {
			t.Errorf("%s is not joined", name)
			continue
		}
		var args []reflect.Value
		for in := range v.Field(i).Type().NumIn() {
			kind := v.Field(i).Type().In(in)
			if kind == reflect.TypeFor[context.Context]() {
				args = append(args, reflect.ValueOf(t.Context()))
				continue
			}
			args = append(args, reflect.Zero(kind))
		}
		events = nil
		out := v.Field(i).Call(args)
		if len(events) != 2 || events[0] != "a "+name || events[1] != "b "+name {
			t.Errorf("%s told %q", name, events)
		}
		if len(out) == 1 {
			if made := out[0].Interface().(context.Context).Value(joined{}); made != "ab" {
				t.Errorf("%s made a context of %v", name, made)
			}
		}
	}
}

func TestJoinedTracesCostNothingWhereNobodyListens(t *testing.T) {
	v := reflect.ValueOf(JoinTraces(&Trace{}, nil, &Trace{Wait: func(WaitInfo) {}})).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsNil() != (name != "Wait") {
			t.Errorf("%s: nil is %v", name, v.Field(i).IsNil())
		}
	}
}

func TestAJoinedContextIsKeptWhenTheLastMakesNone(t *testing.T) {
	var events []string
	none := &Trace{Held: func(ctx context.Context, _ *Lock) context.Context {
		if ctx.Value(joined{}) != "a" {
			t.Error("it did not get what the one before it made")
		}
		return nil
	}}
	if made := JoinTraces(fullTrace(&events, "a"), none).Held(t.Context(), nil); made.Value(joined{}) != "a" {
		t.Error("lost")
	}
}
