// Package builtinstest runs scripts for the tests of package builtins and of its
// vocabularies: on ranks of their own, on the transports in turn, as package lang does
// but without a front end.
//
// A test of a vocabulary imports it for its names, and others that its scripts
// use, and runs the scripts of a folder:
//
//	package dtensor_test
//
//	import (
//		"testing"
//
//		"tpsh/builtins/builtinstest"
//		_ "tpsh/builtins/dtensor"
//	)
//
//	func TestScripts(t *testing.T) { builtinstest.Scripts(t, "testdata") }
//
// Each function test_... of a script is a test of its own; a line RANKS = [2, 4]
// says on how many ranks. OnRank gives a test in Go a rank to call functions of the
// vocabulary on, a Script is one source on so many ranks, and Example runs what
// stands behind >>> in a documentation.
package builtinstest
