// Package blas opens the OpenBLAS that is installed on a machine, so that
// package gemm can leave products to it.
//
// Only a binary built with the tag native on Linux can open libraries (Built
// says so): such a binary is linked with the C library. In every other one Find
// fails, and says what build it takes.
//
// An OpenBLAS comes with integers of 32 bits or of 64, under one name or
// several: calling the one as if it were the other reads beside its arguments.
// So a library is opened only if its names, what it says of itself, and what it
// makes of an integer of 64 bits all say that its integers have 32.
//
// The library is told to use one thread, since ranks are the parallelism. Its
// sums have an order of its own, which differs between its versions and the
// processors that it runs on: it is used only where a user asks for it.
package blas
