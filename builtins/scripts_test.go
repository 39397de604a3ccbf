package builtins_test

import (
	"testing"

	"tpsh/builtins/builtinstest"
)

func TestScripts(t *testing.T) { builtinstest.Scripts(t, "testdata") }
