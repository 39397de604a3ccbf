//go:build unix && !linux

package proc

import (
	"syscall"
	"time"
)

// attributes are those of a process that hears nothing from the terminal.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// beLate does nothing: there is no measure for it.
func beLate(time.Duration) {}

// watch waits for the end of the process.
func (p *Process) watch() { p.reap() }
