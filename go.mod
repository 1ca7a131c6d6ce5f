module github.com/redquorum/redquorum

go 1.26

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/gomodule/redigo v1.9.3
	github.com/hashicorp/go-multierror v1.1.1
	github.com/mattn/go-runewidth v0.0.24
	github.com/rs/xid v1.6.0
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	github.com/yuin/gopher-lua v1.1.1
	golang.org/x/sys v0.47.0
	golang.org/x/term v0.45.0
)

require (
	github.com/clipperhouse/uax29/v2 v2.2.0 // indirect
	github.com/hashicorp/errwrap v1.0.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
)
