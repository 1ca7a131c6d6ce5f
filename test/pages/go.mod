module github.com/redquorum/redquorum/test/pages

go 1.26.0

replace (
	github.com/redquorum/redquorum => ../..
	github.com/redquorum/redquorum/contrib/otel => ../../contrib/otel
	github.com/redquorum/redquorum/contrib/prometheus => ../../contrib/prometheus
	github.com/redquorum/redquorum/contrib/redsync => ../../contrib/redsync
)

require (
	github.com/prometheus/client_golang v1.25.0
	github.com/redquorum/redquorum v0.1.0
	github.com/redquorum/redquorum/contrib/otel v0.0.0-00010101000000-000000000000
	github.com/redquorum/redquorum/contrib/prometheus v0.0.0-00010101000000-000000000000
	github.com/redquorum/redquorum/contrib/redsync v0.0.0-00010101000000-000000000000
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/go-redsync/redsync/v4 v4.18.0 // indirect
	github.com/gomodule/redigo v1.9.3 // indirect
	github.com/hashicorp/errwrap v1.0.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.opentelemetry.io/otel/trace v1.47.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
