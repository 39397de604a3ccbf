//go:build unix && !linux

package launch

import "os"

// Transports lists the transports of processes there are here.
var Transports = []string{Sockets}

// program is the path under which the running program can be started again.
func program() (string, error) { return os.Executable() }
