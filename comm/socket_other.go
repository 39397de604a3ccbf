//go:build !unix

package comm

import "io"

// readSocket is not called where polls is false.
func readSocket(uintptr, []byte) (int, error) { return 0, io.EOF }

// polls says that sockets cannot be read without waiting.
const polls = false
