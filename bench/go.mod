module github.com/redquorum/redquorum/bench

go 1.26.0

require (
	github.com/go-redsync/redsync/v4 v4.18.0
	github.com/gomodule/redigo v1.9.3
	github.com/redquorum/redquorum v0.0.0
)

require (
	github.com/hashicorp/errwrap v1.0.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/rs/xid v1.6.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace github.com/redquorum/redquorum => ../
