// Package op is the table of operators: for each its documentation, its
// parameters, its shape rule, its kernel, its gradient, its sharding rule and
// its cost.
//
// To add an operator, add one register call to the file of its family. The
// builtin, completion, the reference page and the whole-table tests follow.
//
// Applying an operator (see Apply) infers its results, allocates them and
// runs the kernel. Package grad applies operators and records them; gradients
// are operators too, applied through the same door.
//
// What a call costs (see Cost) is told by its shapes, dtypes and arguments: its
// operations and the bytes it moves, by a rule of its entry or its family's.
//
// A sharding rule (see Rule) says how an operator runs on tensors that ranks
// hold in blocks; it knows no communication. Package shard applies it. Where no
// row of a rule fits and Def.Compose is set, the operator is made of others
// that do.
//
// Files begin with the name of their family: elementwise_, reduce_, shape_,
// index_, linalg_, nn_, optim_, random_ and create_ hold entries, engine_ what
// runs them; _rule is an entry's sharding rule. Package optest tests the table.
//
// A tensor without storage is shape-only: its operators are inferred and not
// run.
package op
