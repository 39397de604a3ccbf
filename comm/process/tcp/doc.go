// Package tcp carries messages over TCP connections that whoever waits reads itself.
//
// A Conn is a connection of the operating system's of which Go's scheduler does not
// know: that would wake a thread whenever something comes, and the thread another.
// The goroutine that waits for a message reads the connection; while none does, the
// listener of the Set sleeps in poll(2) and reads. A Set has the Conns of a rank, and
// is an inbound of package process. Where there are many, epoll(7) tells which have
// something, so that a message is the same work however many ranks there are.
//
// For example, a rank 1 that has a connection to rank 0:
//
//	set := tcp.NewSet(host, 1, 2, nap)
//	c, err := set.Add(0, conn, heard, reader) // conn is the set's from now on
//	err = set.Start()
//	c.Send(wire.Frame{Type: wire.FrameData}, head, body)
//	set.PollFrom([]int{0}) // gives host.Accept the messages that have come
//
// Systems without poll(2) have none of this: there Polls is false, and goroutines
// read connections as they do any stream.
package tcp
