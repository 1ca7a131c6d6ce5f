package redlock

import (
	"github.com/redquorum/redquorum/internal/seam"
	"github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/pool"
)

func init() {
	seam.Client = func(h seam.Hooks) any {
		return clientOption(func(o *clientOptions) error {
			o.id, o.chance = h.ID, h.Chance
			if o.lock.hold.Owner == token.ProcessOwner() {
				o.lock.hold.Owner = "" // it differs in every run
			}
			o.poolOpts = append(o.poolOpts, seam.Pool(h).(pool.Option))
			return nil
		})
	}
}
