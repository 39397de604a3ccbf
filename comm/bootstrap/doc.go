// Package bootstrap makes the connections of a job, before ranks say anything to
// each other: how two ends come to trust each other, how ranks find each other,
// and how a silent end is told from one that has gone. It knows no collectives.
//
// Terms:
//
//   - Credentials are secrets that both ends of a connection of a job have, and prove to
//     each other in a handshake (hello.go has the protocol); an Identity is the certificate that an
//     end shows of itself on TLS besides.
//   - A Listener accepts connections from processes that have the same credentials; a
//     Hello tells which rank has dialled, and for which purpose.
//   - A rendezvous is where ranks learn where the others are. Connections are what a rank has
//     afterwards: a stream to the supervisor, and Peers, which make those to other ranks when
//     they are first used.
//   - A Heartbeat says on a stream that its end is there; a HeardReader knows when
//     it was last heard of.
//
// The supervisor of a job takes its ranks in, and each rank meets the others:
//
//	l, err := credentials.Listen("127.0.0.1:0")
//	streams, err := bootstrap.Rendezvous(ctx, l, size, nil)
//
//	c, err := bootstrap.Meet(ctx, credentials, l.Addr().String(), rank, size)
//	links, err := process.Connect(process.Through(c))
//
// Whatever reads foreign bytes is fuzzed: hellos, tables, and whole handshakes.
package bootstrap
