// Package chaos lets contenders fight for one lock while masters break, and checks
// all the while that no two of them hold it at once. Masters of its own it kills,
// freezes, empties, cuts off and gives wrong clocks; those that others run it only
// watches.
package chaos
