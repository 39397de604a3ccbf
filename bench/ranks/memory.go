package main

import "tpsh/runtime/tensor"

// Blocks lie as the storage of tensors does, for as long as the process runs.
var (
	storage = tensor.NewAllocator(0)
	kept    []*tensor.Buffer
)

// floats returns memory for n elements.
func floats(n int) []float32 {
	x, b, err := tensor.Room[float32](storage, n)
	if err != nil {
		panic(err)
	}
	kept = append(kept, b)
	return x
}
