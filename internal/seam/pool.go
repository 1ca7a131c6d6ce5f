package seam

import (
	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/internal/pipeline"
)

var (
	// Pipelines returns the pipelines of a *pool.Pool, in the order of the URLs. The slice is
	// the pool's: do not change it.
	Pipelines func(pool any) []*pipeline.Pipeline
	// Deliverer returns the deliverer of a *pool.Pool, which the pool closes.
	Deliverer func(pool any) *deliver.Deliverer
)
