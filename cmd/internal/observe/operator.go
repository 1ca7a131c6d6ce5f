package observe

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/explain"
)

// operatorBound is how long the masters have to say who has taken the lock.
const operatorBound = time.Second

// OperatorAt tells which operator has taken the lock from its holder; "": none, as
// far as the masters say.
func OperatorAt(who Inspector, key string) string {
	ctx, cancel := context.WithTimeout(context.Background(), operatorBound)
	defer cancel()
	in, err := who.Inspect(ctx, key)
	if err != nil {
		return ""
	}
	for i := range in.Holders {
		if operator, ok := explain.By(in.Holders[i].Token); ok {
			return operator
		}
	}
	return ""
}
