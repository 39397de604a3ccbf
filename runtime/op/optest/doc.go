// Package optest holds the tests of the whole table of operators: what every
// entry must keep, whoever wrote it. It is to package op what commtest is to
// package comm, and sees what any user of op sees: its exported names.
//
// An entry is tested by its examples (examples_*_test.go): calls with inputs
// that the tests vary. A new operator needs one example there and no test of
// its own; without one the tests fail and name it. For example,
//
//	addExamples("log1p", call(positive(2, 3)))
//
// has log1p compared with its shape rule, in every dtype, on empty and
// one-element tensors, on NaN and infinities, strided and shared inputs
// (table_test.go, table_dtype_test.go, table_layout_test.go,
// table_shared_test.go); its gradient with central differences
// (table_grad_test.go); each row of its sharding rule, run on blocks and
// joined, with the kernel on the whole (table_shard_test.go); and the operator
// on placed tensors of goroutine ranks, in every placement
// (table_placed_test.go; -full for all of them, a sample otherwise).
//
// testdata/dtypes.txt says what dtype every operator gives for every dtype, and
// docs/sharding.md what every rule does: -update writes both.
package optest
