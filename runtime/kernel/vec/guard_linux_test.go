package vec

import (
	"reflect"
	"syscall"
	"testing"
	"unsafe"
)

// Kernels touch nothing in front of their arrays and nothing behind: each is
// put against a page that can't be read, on either side.
func TestGuardPages(t *testing.T) {
	defer Use(best)
	for _, s := range Sets()[1:] {
		Use(s)
		for name, f := range all {
			fv := reflect.ValueOf(f)
			for n := 1; n <= 67; n++ {
				for _, end := range []bool{false, true} {
					fv.Call(guarded(t, fv.Type(), n, end))
				}
			}
			_ = name // the trace of a fault names the kernel
		}
	}
}

// guarded returns arguments for f, arrays of n ones that begin where a page
// does or end so.
func guarded(t *testing.T, f reflect.Type, n int, end bool) []reflect.Value {
	var args []reflect.Value
	for i := range f.NumIn() {
		in := f.In(i)
		switch in.Kind() {
		case reflect.Slice:
			size := n * int(in.Elem().Size())
			mem := pages(t, i)
			if end {
				mem = mem[len(mem)-size:]
			}
			args = append(args, reflect.NewAt(reflect.ArrayOf(n, in.Elem()), unsafe.Pointer(&mem[0])).Elem().Slice(0, n))
		case reflect.Pointer:
			args = append(args, reflect.New(in.Elem()))
		default:
			args = append(args, reflect.ValueOf(1.0).Convert(in))
		}
	}
	return args
}

// islands are pages between pages that can't be read.
var islands [8][]byte

func pages(t *testing.T, i int) []byte {
	if islands[i] == nil {
		size := syscall.Getpagesize()
		mem, err := syscall.Mmap(-1, 0, 3*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		for _, lo := range []int{0, 2 * size} {
			if err := syscall.Mprotect(mem[lo:lo+size], syscall.PROT_NONE); err != nil {
				t.Fatal(err)
			}
		}
		islands[i] = mem[size : 2*size : 2*size]
	}
	return islands[i]
}
