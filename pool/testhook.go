package pool

import "github.com/redquorum/redquorum/internal/testhook"

func init() {
	testhook.Pool = func(h testhook.Hooks) any {
		return Option(func(o *options) error {
			o.chance, o.yield = h.Chance, h.Yield
			return nil
		})
	}
}
