package proc

import (
	"syscall"
	"time"
)

// attributes are those of any process.
func attributes() *syscall.SysProcAttr { return nil }

// beLate does nothing: there is no measure for it.
func beLate(time.Duration) {}

// watch waits for the end of the process.
func (p *Process) watch() { p.reap() }
