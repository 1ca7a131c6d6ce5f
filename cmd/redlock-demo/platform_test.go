package main

import "runtime"

const isLinux = runtime.GOOS == "linux"
