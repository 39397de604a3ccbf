package tcp

import (
	"net"

	"golang.org/x/sys/unix"
)

// unpace lets a connection within the host send as fast as it is written to.
// Pacing, by which BBR spares a network, sets a timer for every few
// packets.
func unpace(conn *net.TCPConn) {
	if raw, err := conn.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { // it goes on without, only slower
			unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
		})
	}
}
