// Redlock uses the lock of package redlock from a shell: exec runs a command while it
// holds a lock, and status, locks, doctor and others look after locks and masters.
package main

import (
	"os"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/tree"
)

func main() { os.Exit(app.Run(tree.Redlock, os.Args[1:])) }
