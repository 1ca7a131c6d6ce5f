// Package inpool gives this module the pipelines inside a pool.Pool, whose own
// methods show public types only.
package inpool

import "github.com/redquorum/redquorum/internal/pipeline"

// Pipelines gives the pipelines of a *pool.Pool, in the order of the URLs. The slice
// is the pool's: do not change it. Package pool sets Pipelines when it is loaded, and
// is not imported here, since it imports this package.
var Pipelines func(pool any) []*pipeline.Pipeline
