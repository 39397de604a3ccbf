// Package nn is the vocabulary of networks: modules, the layers among them, and
// optimisers.
//
//	m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
//	opt = optim.AdamW(m.parameters(), lr=1e-3)
//	m(x).sum().backward(); opt.step(); m.state_dict()
//
// A Module has fields, of which some are parameters and some modules below it, and a
// class: its name, what it computes, and what str(m) shows. A layer is a constructor
// and a class (layers.go), and most compute one function of F on their fields. An
// Optimizer has groups of parameters and a rule, a row of the table in optim.go.
//
// The package knows tensors and no other vocabulary. What others do to modules goes
// through three doors: Module.Around and Module.Outside run something around a call,
// as a parallel style does that distributes what goes in; Module.Mark notes what a
// module has been given; and a Store, the lens of a parameter, says how it is kept,
// as fully_shard keeps a part of it on each rank. For example, in package dtensor:
//
//	m.Around(func(next nn.Call) nn.Call {
//		return func(t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
//			args = distributed(args)
//			return next(t, args, kwargs)
//		}
//	})
package nn
