// Package testrun finds and runs tests: the functions test_* of *_test.star
// files.
//
// A test runs on ranks of its own, which first run the top level of its file
// anew. It runs once for every number of ranks and every transport that is
// asked for; a file may restrict the numbers by RANKS = [2, 4], written out at
// its top level. A test that fails or hangs does not touch the next.
package testrun
