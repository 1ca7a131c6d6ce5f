module github.com/redquorum/redquorum/test/proof

go 1.26.0

replace (
	github.com/redquorum/redquorum => ../..
	github.com/redquorum/redquorum/verification => ../../verification
)

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/gomodule/redigo v1.9.3
	github.com/redquorum/redquorum v0.0.0-00010101000000-000000000000
	github.com/redquorum/redquorum/verification v0.0.0-00010101000000-000000000000
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/hashicorp/errwrap v1.0.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
