package main

import (
	"flag"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
)

var versionCommand = &command{
	name:  "version",
	usage: "",
	short: "says which tpsh this is",
	files: noFiles,
	setup: func(*flag.FlagSet) func(*stdio, []string) error {
		return func(std *stdio, args []string) error {
			if len(args) > 0 {
				return usagef("version: got argument %q, want none", args[0])
			}
			fmt.Fprintf(std.out, "tpsh %s %s/%s %s\n", version(), goruntime.GOOS, goruntime.GOARCH, goruntime.Version())
			return nil
		}
	},
}

// release is the version that a builder gives a binary by
// -ldflags "-X main.release=v1.2.3".
var release string

// version returns release, or else the module's version as it was built.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
