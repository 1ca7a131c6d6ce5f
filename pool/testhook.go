package pool

import "github.com/redquorum/redquorum/internal/seam"

func init() {
	seam.Pool = func(h seam.Hooks) any {
		return Option(func(o *options) error {
			o.chance, o.yield = h.Chance, h.Yield
			return nil
		})
	}
}
