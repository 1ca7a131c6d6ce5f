// Redlock-demo shows the lock of package redlock at work: by default on masters embedded
// in the program, or on real ones that it starts or that somebody else runs. It also has
// all commands of redlock.
package main

import (
	"os"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/demoroot"
)

func main() { os.Exit(app.Run(demoroot.Demo, os.Args[1:])) }
