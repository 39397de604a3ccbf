//go:build unix && !linux

package launch

import "os"

// program is the path under which the running program can be started again.
func program() (string, error) { return os.Executable() }
