// Redlock uses the lock of package redlock from a shell: exec runs a command while it
// holds a lock, and status, locks, doctor and others look after locks and masters.
package main

import (
	"os"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/root"
)

func main() { os.Exit(app.Run(root.Redlock, os.Args[1:])) }
