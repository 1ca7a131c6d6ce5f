// Package alerts has tests alone: each alert of deploy/grafana/alerts.yaml fires by its fault, on simulated masters
// in virtual time, and is silent through what needs nobody. It is a module of its own because of Prometheus,
// which evaluates the rules.
package alerts
