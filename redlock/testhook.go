package redlock

import (
	"github.com/redquorum/redquorum/internal/testhook"
	"github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/pool"
)

func init() {
	testhook.Client = func(h testhook.Hooks) any {
		return clientOption(func(o *clientOptions) error {
			o.id, o.chance = h.ID, h.Chance
			if o.lock.hold.Owner == token.ProcessOwner() {
				o.lock.hold.Owner = "" // which is another one in every run
			}
			o.poolOpts = append(o.poolOpts, testhook.Pool(h).(pool.Option))
			return nil
		})
	}
}
