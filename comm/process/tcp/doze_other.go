//go:build !linux

package tcp

import "time"

// doze is wait for a short time.
func (l pollList) doze(timeout time.Duration) { l.wait(timeout) }
