package bootstrap

import (
	"crypto/tls"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// gone reports whether the other end has closed a connection, whatever it said before.
func gone(conn net.Conn) bool {
	if c, ok := conn.(*tls.Conn); ok {
		conn = c.NetConn()
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	var end [1]unix.PollFd
	err = raw.Control(func(fd uintptr) {
		end[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLRDHUP}
		unix.Poll(end[:], 0)
	})
	return err != nil || end[0].Revents != 0
}
