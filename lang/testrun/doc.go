// Package testrun finds and runs tests: the functions test_* of *_test.star
// files.
//
// A test runs on ranks of its own, which first run the top level of its file
// anew. It runs once for every number of ranks and every transport that is
// asked for; a file may restrict the numbers by RANKS = [2, 4], written out at
// its top level. A test that fails or hangs does not touch the next.
//
// Options has the function that starts ranks, so the package knows no transport. A case is one test
// on one number of ranks and one transport. For example, sums_test.star
//
//	RANKS = [2]
//	def test_sum():
//	    assert.eq(all_reduce(tensor([1.0])).item(), 2.0)
package testrun
