// Package hardware says what a machine costs: how long one operation takes on
// one rank, how long a collective takes on one group, and how much memory a
// rank has. It is pure: it knows no script, no tensor and no run, only the
// numbers of a hardware file.
//
// A hardware file is TOML. Every number is in seconds, bytes, FLOP/s or bytes a
// second, or is a share between 0 and 1; a unit in a number is an error. Terms:
//
//   - a rank is one device, with memory of its own;
//   - a product is what the matrix units do (matmul and its kin); everything
//     else is the rest;
//   - the share is the part of the peak that a product reaches, a function of
//     its FLOPs and of its smallest dim;
//   - issue is the time that the host takes to hand one operation to the device,
//     start what the device takes before it does its first arithmetic;
//   - a level is a ring of the network, innermost first: its size counts members
//     of the level below (a node has 8 devices, a cluster 512 nodes). Ranks are
//     numbered along the innermost level first.
//
// A question is answered without a list of ranks: a [Group] says how many
// members lie on each level.
//
//	m, _ := hardware.Builtin("dgx-a100-80g")
//	t := m.Operation(hardware.Operation{Products: 1, FLOPs: 2e12, Bytes: 1e8, Dim: 4096, DType: dtype.Float16})
//	g := m.GroupOf([]int{0, 8, 16, 24})              // one member in each of four nodes
//	u := m.CollectiveOn("all_reduce", g, 1<<30)      // seconds for 1 GiB a rank
//
// The numbers that a file leaves to be fitted are its constants ([Constants]);
// they are what `tpsh plan fit` changes.
package hardware
