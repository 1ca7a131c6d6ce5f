// Package real checks histories of runs against real redis-servers, which are
// killed and frozen meanwhile.
package real
