//go:build !linux

package tcp

import "net"

// unpace does nothing: how a system sends within the host is its own affair.
func unpace(*net.TCPConn) {}
