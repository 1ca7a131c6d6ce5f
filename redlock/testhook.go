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
			if o.lock.owner == token.ProcessOwner() {
				o.lock.owner = "" // which is another one in every run
			}
			o.poolOpts = append(o.poolOpts, testhook.Pool(h).(pool.Option))
			return nil
		})
	}
}
