//go:build race

package sim

// usualSeeds is how many seeds of each profile are run unless more are asked for:
// the race detector makes them five times as long.
const usualSeeds = 3
