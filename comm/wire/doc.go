// Package wire is the language of ranks that share no memory, as bytes: how
// frames and their payloads are encoded, and how they are read. It opens no
// connection, and waits for nothing.
//
// Terms:
//
//   - A Frame is a message or a part of one: a header of fixed length (frame.go
//     has the format) and a payload. Every frame has one encoding.
//   - A Contract tells other members of a call before any data
//     (desc.go), and a Desc all of it, which is sent when contracts differ.
//   - Reports and verdicts go between ranks and the supervisor;
//     package deadlock has their meaning, report.go their encoding.
//   - A FrameReader decodes the frames of a stream; a Reader puts the messages
//     together of which they are parts, where the receiver wants them. A frame that it
//     hands out is transient if it is there only until it has been taken in.
//   - A Decoder takes values from bytes, and remembers the first that is wrong.
//   - A BufferPool keeps memory for data that have come.
//
// For example, a frame is written and read back:
//
//	b := wire.AppendFrame(nil, &wire.Frame{Type: wire.FrameData, Source: 1, Rest: 3, Payload: []byte("abc")})
//	r := wire.NewReader(wire.ReaderOptions{Source: 1, Stream: bytes.NewReader(b)})
//	f, err := r.Next() // f.Payload is "abc"
//
// No length that bytes claim makes a reader allocate more than has arrived, twice;
// fuzz tests feed all decoders with foreign bytes.
package wire
