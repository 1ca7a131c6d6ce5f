package redlock

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// A field that only one of the two types has, or that is not copied, is found.
func TestAnAbstainErrorHasAllThatTheGuardKnows(t *testing.T) {
	fact := &guard.AbstainError{
		Cause: guard.OffClock, Value: "v", Want: "w", Twins: []string{"twin"}, Left: time.Second, Until: time.Unix(7, 0),
		How: guard.HowReset, By: drift.Span{Low: 1, High: 2}, Ours: true, Err: errors.New("e"),
	}
	public := publicAbstention(fact)
	in, out := reflect.ValueOf(*fact), reflect.ValueOf(*public)
	if in.NumField() != out.NumField() {
		t.Fatalf("the guard's has %d fields, the public one %d", in.NumField(), out.NumField())
	}
	for i := range in.NumField() {
		name := in.Type().Field(i).Name
		if in.Field(i).IsZero() {
			t.Errorf("%s is not set by this test", name)
		}
		field := out.FieldByName(name)
		if !field.IsValid() {
			t.Errorf("%s is missing", name)
			continue
		}
		if got, want := field.Convert(in.Field(i).Type()).Interface(), in.Field(i).Interface(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if back := public.fact(); !reflect.DeepEqual(back, fact) {
		t.Errorf("there and back: %+v, want %+v", back, fact)
	}
	if public.Error() != fact.Error() || errors.Unwrap(public) != fact.Err { //nolint:errorlint // the very same
		t.Errorf("text %q, cause %v", public.Error(), errors.Unwrap(public))
	}
	if publicAbstention(nil) != nil {
		t.Error("there is no reason, and an error")
	}
}

func TestTheCausesAreThoseOfTheGuard(t *testing.T) {
	pairs := map[AbstainCause]guard.Cause{
		AbstainNotConnected: guard.NotConnected, AbstainNotMaster: guard.NotMaster, AbstainMayEvict: guard.MayEvict,
		AbstainDuplicate: guard.Duplicate, AbstainUnreadable: guard.Unreadable, AbstainUnmarked: guard.Unmarked,
		AbstainOffClock: guard.OffClock, AbstainNotOurs: guard.NotOurs, AbstainOtherFleet: guard.OtherFleet,
		AbstainNoMarker: guard.NoMarker, AbstainChanged: guard.Changed, AbstainQuarantined: guard.Quarantined,
		AbstainNotStandalone: guard.NotStandalone, AbstainMoved: guard.Moved,
		AbstainForbidden: guard.Forbidden,
	}
	for public, internal := range pairs {
		if guard.Cause(public) != internal || public.String() != internal.String() || public.Passes() != internal.Passes() {
			t.Errorf("%v (%d) is not %v (%d)", public, public, internal, internal)
		}
	}
	// The next number is none of the guard's either.
	next := guard.Cause(len(pairs) + 1)
	if known := guard.Cause(len(pairs)); next.String() != "Cause(16)" || known.String() == "Cause(15)" {
		t.Errorf("the guard has other causes than the %d here: %v, %v", len(pairs), known, next)
	}
}
