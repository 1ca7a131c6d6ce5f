package redlock

// A claim is what an attempt or a hold has on the masters.
type claim struct {
	kind   *kind
	keys   []any // with the prefix, as arguments of commands, boxed once
	one    [1]any
	sides  []any // see allKeys; nil: not made yet
	token  string
	fence  uint64 // the fencing token; 0: none
	absent uint64 // masters that certainly have nothing of ours
}
