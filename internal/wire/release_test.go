package wire

import (
	"reflect"
	"testing"

	"github.com/redquorum/redquorum/internal/pipeline"
)

// The reply to a release is a number, three integers or a longer array, by how many keys it
// handed over.
func TestSuccessorsAreReadWhateverTheFormOfTheReply(t *testing.T) {
	for _, tt := range []struct {
		reply, released any
		successors      []any
	}{
		{int64(1), int64(1), nil},
		{&pipeline.ThreeInts{3, 2, 1}, int64(3), []any{int64(2), int64(1)}},
		{[]any{int64(1), int64(2), int64(0)}, int64(1), []any{int64(2), int64(0)}},
		{[]any{int64(1), int64(1), int64(1), int64(2), int64(2)}, int64(1), []any{int64(1), int64(1), int64(2), int64(2)}},
		{[]any{int64(1), int64(2)}, []any{int64(1), int64(2)}, nil},
		{"OK", "OK", nil},
	} {
		released, successors := splitSuccessors(tt.reply)
		if !reflect.DeepEqual(released, tt.released) || len(successors) != len(tt.successors) || len(successors) > 0 && !reflect.DeepEqual(successors, tt.successors) {
			t.Errorf("%v: %v and %v, want %v and %v", tt.reply, released, successors, tt.released, tt.successors)
		}
	}
}
