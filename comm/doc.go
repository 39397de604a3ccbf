// Package comm moves bytes between ranks, and knows who sends what to whom.
// It knows nothing of tensors, scripts or meshes.
//
// Terms:
//
//   - A rank is one of the size participants of a Fabric, numbered from 0.
//   - An Endpoint is one rank's side of a Fabric.
//   - A Group is an ordered list of ranks with call numbers of its own. A
//     member's place in that list is its group rank; roots, peers and blocks
//     are always named by group rank.
//   - A collective is an operation that every member of a group calls. Its
//     n-th call on a group meets every other member's n-th call on it.
//   - The contract is the description of a call (Desc) that members compare
//     before any data is believed.
//   - A Block is a strided region of a buffer.
//   - A schedule is a pure list of steps that carries out a collective. The
//     message family sends and receives; the direct family reads the buffers
//     of other ranks in place.
//
// Every collective joins its members: it ends on a rank only when every
// member has called it and the calls have been compared, on every transport.
// Reductions combine contributions in the order of group ranks, whatever the
// schedule, the transport or the size: the same bits everywhere.
//
// A wait that can never end is found when the last rank concerned blocks,
// without a timer; see Monitor.
package comm
