//go:build unix && !linux

package proc

import "syscall"

// attributes are those of a process that hears nothing from the terminal.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// watch waits for the end of the process.
func (p *Process) watch() { p.reap() }
