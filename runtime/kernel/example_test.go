package kernel_test

import (
	"fmt"

	"tpsh/runtime/kernel"
)

func Example() {
	x, y := []float32{1, 2, 3}, []float32{10, 20, 30}
	dst := make([]float32, 3)
	kernel.Add.F32(dst, x, y)
	fmt.Println(dst)
	kernel.AddTo(dst, dst, dst)
	fmt.Println(dst, kernel.Total(dst))
	// Output:
	// [11 22 33]
	// [22 44 66] 132
}
