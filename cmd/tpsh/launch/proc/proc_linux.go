package proc

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes are those of a process that ends with the thread that starts it
// and hears nothing from the terminal.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// beLate lets the timers of this thread be late by so much, and those of the processes that it
// starts: prctl(2), PR_SET_TIMERSLACK. Where it cannot they are as usual.
func beLate(by time.Duration) { unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(by), 0, 0, 0) }

// cldStopped is the code of a child that was stopped (CLD_STOPPED in
// asm-generic/siginfo.h).
const cldStopped = 5

// watch waits for what becomes of the process until it has ended, and ends what
// it leaves in its group, as a library may that starts processes. WNOWAIT leaves
// it to os.Process to reap it, which knows then that its number is free; until
// that the group's is not free either.
func (p *Process) watch() {
	for p.next(unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT) == cldStopped {
		select {
		case <-p.stopped:
		default:
			close(p.stopped)
		}
		p.next(unix.WSTOPPED | unix.WNOHANG) // forget this stop
	}
	unix.Kill(-p.os.Pid, unix.SIGKILL)
	p.reap()
}

// next waits for an event of the process and returns its code.
func (p *Process) next(options int) (code int32) {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, p.os.Pid, &info, options, nil); err != unix.EINTR {
			return info.Code
		}
	}
}
