package builtins

import (
	"fmt"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/operator"
)

// sliceOf gives what the interpreter does, also of bounds out of range and of wrong types.
func TestSliceOf(t *testing.T) {
	thread := new(starlark.Thread)
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, thread, "x.star", "def slice(x, lo, hi, step): return x[lo:hi:step]", nil)
	if err != nil {
		t.Fatal(err)
	}
	bounds := []starlark.Value{starlark.None, starlark.String("a"), starlark.MakeInt64(1 << 40)}
	for i := -5; i <= 5; i++ {
		bounds = append(bounds, starlark.MakeInt(i))
	}
	for _, x := range []starlark.Value{starlark.String(""), starlark.String("abc"), starlark.Tuple{starlark.MakeInt(1)}, starlark.None} {
		for _, lo := range bounds {
			for _, hi := range bounds {
				for _, step := range bounds {
					want, err := starlark.Call(thread, globals["slice"], starlark.Tuple{x, lo, hi, step}, nil)
					got, gotErr := sliceOf(x, &operator.Slice{Lo: lo, Hi: hi, Step: step})
					if fmt.Sprint(got, gotErr) != fmt.Sprint(want, err) {
						t.Errorf("%v[%v:%v:%v]: got %v, %v, want %v, %v", x, lo, hi, step, got, gotErr, want, err)
					}
				}
			}
		}
	}
}
