package demo

import "github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"

var (
	number = words.Number
	count  = words.Count
	span   = words.Span
)
