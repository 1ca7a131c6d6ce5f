// Package alerts has only tests: each alert of deploy/grafana/alerts.yaml fires for its fault,
// on simulated masters in virtual time, and is silent while nobody needs to act. It is a module
// of its own because of Prometheus, which evaluates the rules.
package alerts
