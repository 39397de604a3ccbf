package main

import (
	"testing"

	"tpsh/lang"
)

// All calls of operators.txt make a program that can be read, and no two have one name.
func TestProgram(t *testing.T) {
	calls, gradients, err := chosen(nil)
	if err != nil || len(calls) < 150 || len(gradients) < 50 {
		t.Fatalf("got %d calls and %d gradients, %v", len(calls), len(gradients), err)
	}
	seen := map[string]bool{}
	for _, name := range append(named(gradients), calls...) {
		if seen[name] {
			t.Errorf("%s stands twice in operators.txt", name)
		}
		seen[name] = true
	}
	if _, err := lang.Parse("operators.star", program(calls, gradients), 1); err != nil {
		t.Error(err)
	}
}

func TestChosen(t *testing.T) {
	calls, gradients, err := chosen([]string{`^x\.norm\(\)$`})
	if err != nil || len(calls) != 1 || len(gradients) != 1 {
		t.Errorf("got %q and %q, %v; want x.norm() of both kinds", calls, gradients, err)
	}
	if _, _, err := chosen([]string{"("}); err == nil {
		t.Error("a pattern that is none was taken")
	}
}
