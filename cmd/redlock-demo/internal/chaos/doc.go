// Package chaos lets contenders fight for one lock while masters of its own are
// killed, frozen, emptied, cut off and given wrong clocks, and checks all the
// while that no two of them hold it at once.
package chaos
