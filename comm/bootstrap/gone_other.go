//go:build !linux

package bootstrap

import "net"

// gone reports whether the other end has closed a connection, as far as that can be told.
func gone(net.Conn) bool { return false }
