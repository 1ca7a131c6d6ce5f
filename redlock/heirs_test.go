package redlock

import (
	"reflect"
	"testing"

	"github.com/redquorum/redquorum/internal/pipeline"
)

// What a release says of the keys that it handed over comes in one form or the
// other, by how many there are.
func TestHeirsAreReadWhateverTheFormOfTheReply(t *testing.T) {
	for _, tt := range []struct {
		reply, released any
		heirs           []any
	}{
		{int64(1), int64(1), nil},
		{&pipeline.ThreeInts{3, 2, 1}, int64(3), []any{int64(2), int64(1)}},
		{[]any{int64(1), int64(2), int64(0)}, int64(1), []any{int64(2), int64(0)}},
		{[]any{int64(1), int64(1), int64(1), int64(2), int64(2)}, int64(1), []any{int64(1), int64(1), int64(2), int64(2)}},
		{[]any{int64(1), int64(2)}, []any{int64(1), int64(2)}, nil},
		{"OK", "OK", nil},
	} {
		released, heirs := splitHeirs(tt.reply)
		if !reflect.DeepEqual(released, tt.released) || len(heirs) != len(tt.heirs) || len(heirs) > 0 && !reflect.DeepEqual(heirs, tt.heirs) {
			t.Errorf("%v: %v and %v, want %v and %v", tt.reply, released, heirs, tt.released, tt.heirs)
		}
	}
}
