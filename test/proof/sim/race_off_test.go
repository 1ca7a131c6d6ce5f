//go:build !race

package sim

// usualSeeds is how many seeds of each profile are run unless more are asked for.
const usualSeeds = 10
