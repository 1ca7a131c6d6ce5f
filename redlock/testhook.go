package redlock

import (
	"github.com/redquorum/redquorum/internal/testhook"
	"github.com/redquorum/redquorum/pool"
)

func init() {
	testhook.Client = func(h testhook.Hooks) any {
		return clientOption(func(o *clientOptions) error {
			o.id, o.chance = h.ID, h.Chance
			o.poolOpts = append(o.poolOpts, testhook.Pool(h).(pool.Option))
			return nil
		})
	}
}
