module github.com/redquorum/redquorum/test/command

go 1.26.0

replace github.com/redquorum/redquorum => ../..

require (
	github.com/redquorum/redquorum v0.0.0-00010101000000-000000000000
	github.com/rogpeppe/go-internal v1.16.0
)

require (
	github.com/gomodule/redigo v1.9.3 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)
