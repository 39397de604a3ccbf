// Package mailbox matches the messages that were sent to a rank with the
// receives of that rank. It moves no bytes and wakes by calling a function, so
// that every transport uses it.
//
// Terms:
//
//   - An Envelope is a message on its way, with its line and group as a report names them.
//   - A Key is all that a receive asks for: group, source and tag. Messages of one
//     key are received in the order in which they were put.
//   - A posted receive says, before the message has come, where its Data are to
//     be read to.
//
// For example:
//
//	var box mailbox.Box
//	key := mailbox.Key{Group: 1, Src: 2, Tag: 7}
//	box.Put(key, mailbox.Envelope{Message: comm.Message{Data: data}})
//	e, ok := box.TakeMessage(key) // ok, and e.Message.Data is data
//
// A Box belongs to one rank, and may be used by several goroutines.
package mailbox
