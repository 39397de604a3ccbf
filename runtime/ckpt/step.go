package ckpt

import "fmt"

// OnStep, where a test has set it, is called before each step of a save that
// another rank or a later run can see: a write, a sync, a rename or a removal of
// a file, and a message between ranks. For example "sync 00000002-00001.safetensors".
var OnStep func(step string)

// Step tells OnStep of a step.
func Step(format string, args ...any) {
	if OnStep != nil {
		OnStep(fmt.Sprintf(format, args...))
	}
}
