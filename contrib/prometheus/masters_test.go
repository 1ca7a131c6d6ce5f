package redlockprom_test

import (
	"log"

	"github.com/redquorum/redquorum/internal/simmaster"
)

// masters starts masters for the example.
func masters() (urls []string, stop func()) {
	cluster, err := simmaster.StartCluster(3)
	if err != nil {
		log.Fatal(err)
	}
	return cluster.URLs(), cluster.Close
}
