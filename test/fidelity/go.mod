module github.com/redquorum/redquorum/test/fidelity

go 1.26.0

replace github.com/redquorum/redquorum => ../..

require (
	github.com/gomodule/redigo v1.9.3
	github.com/redquorum/redquorum v0.0.0-00010101000000-000000000000
	pgregory.net/rapid v1.3.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
