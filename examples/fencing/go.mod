module github.com/redquorum/redquorum/examples/fencing

go 1.26.0

replace github.com/redquorum/redquorum => ../..

require (
	github.com/gomodule/redigo v1.9.3
	github.com/redquorum/redquorum v0.0.0-00010101000000-000000000000
	modernc.org/sqlite v1.50.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/errwrap v1.0.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	golang.org/x/sys v0.47.0 // indirect
	modernc.org/libc v1.72.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.11.0 // indirect
)
