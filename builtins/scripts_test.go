package builtins_test

import (
	"testing"

	"tpsh/builtins/builtinstest"
	_ "tpsh/cmd/tpsh/vocabularies"
)

func TestScripts(t *testing.T) { builtinstest.Scripts(t, "testdata") }
