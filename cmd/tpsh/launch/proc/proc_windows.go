package proc

import "syscall"

// attributes are those of any process.
func attributes() *syscall.SysProcAttr { return nil }

// watch waits for the end of the process.
func (p *Process) watch() { p.reap() }
