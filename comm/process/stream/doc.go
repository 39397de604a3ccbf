// Package stream takes in messages from streams that can be read without waiting,
// so that the goroutine which waits for a message reads it itself.
//
// Terms:
//
//   - An Intake reads the messages of one peer, hands each to the Host, and holds one
//     whose generation has not come. Package tcp reads its connections by the same.
//   - A PollStream is a stream that can be looked at, and beside which blocks travel
//     from memory to memory: that of an MPI, for example.
//   - A Reader is the Intake of a PollStream with a listener, which sleeps until the
//     stream tells it that something may have come.
//   - A Group has the Readers of a rank. It is an inbound of package process: whoever
//     waits looks at all streams at once.
//   - A Host is the rank for which messages come: process.Links, or a stand-in in tests.
//
// For example, a rank whose peers 1 and 2 are reached through streams of an MPI:
//
//	group := &stream.Group{}
//	for peer, s := range streams {
//		group.Listen(stream.NewReader(host, peer, s, heard[peer], in[peer]), s)
//	}
//	for !come() {
//		group.Poll() // gives host.Accept the messages that have come
//	}
package stream
