package files

import (
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
	"tpsh/builtins/safetensors"
	"tpsh/runtime/tensor"
)

// A slice of a large file takes little more memory than the slice: below twice
// of it, with the pages of the file that are mapped in. The file is 1 GB with
// no block on the disk.
func TestSliceMemory(t *testing.T) {
	const rows, columns = 1 << 12, 1 << 16 // float32
	path := sparse(t, rows, columns)
	tests := []struct {
		name             string
		dim, start, stop int
	}{
		{"rows", 0, 1000, 1200},
		{"columns", 1, 1 << 15, 1<<15 + 2000},
	}
	builtinstest.OnRank(t, func(e *builtins.Env, thread *starlark.Thread) {
		thread.SetLocal("tpsh.script_dir", filepath.Dir(path))
		names := e.Predeclared()
		if _, err := builtinstest.Step(thread, names, fmt.Sprintf("f = open_safetensors(%q)", path)); err != nil {
			t.Error(err)
			return
		}
		var kept []starlark.Value // so that no slice gets the memory of another
		for _, test := range tests {
			before := settled(t)
			resetPeak(t)
			v, err := builtinstest.Step(thread, names, fmt.Sprintf(`f.get_slice("x", %d, %d, %d)`, test.dim, test.start, test.stop))
			if err != nil {
				t.Error(err)
				return
			}
			kept = append(kept, v)
			size := v.(*builtins.Tensor).T.Numel() * 4
			if used := resident(t, "VmHWM") - before; used < size/2 || used >= 2*size {
				t.Errorf("%s: %d bytes more at the peak for a slice of %d, want below twice", test.name, used, size)
			} else {
				t.Logf("%s: %.2f of the slice at the peak", test.name, float64(used)/float64(size))
			}
			checkZeros(t, v.(*builtins.Tensor).T)
		}
		goruntime.KeepAlive(kept)
	})
}

func checkZeros(t *testing.T, x *tensor.Tensor) {
	for i, v := range tensor.Data[float32](x) {
		if v != 0 {
			t.Errorf("got %v at %d, want 0", v, i)
			return
		}
	}
}

// sparse makes a safetensors file of one tensor x of zeros, float32.
func sparse(t *testing.T, rows, columns int) string {
	t.Helper()
	header, err := safetensors.AppendHeader(nil, []*safetensors.Tensor{{Name: "x", DType: safetensors.F32, Shape: []int{rows, columns}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, header, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(header)+rows*columns*4)); err != nil {
		t.Fatal(err)
	}
	return path
}

// resident returns a figure of the memory of the process, in bytes.
func resident(t *testing.T, name string) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Error(err)
	}
	_, rest, _ := strings.Cut(string(status), name+":")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Error(err)
	}
	return n << 10
}

// settled returns the resident memory when what earlier tests have left has gone: it
// has stayed the same for a while after a collection.
func settled(t *testing.T) int {
	debug.FreeOSMemory()
	last, since := resident(t, "VmRSS"), time.Now()
	for patience := since.Add(5 * time.Second); time.Since(since) < 50*time.Millisecond && time.Now().Before(patience); time.Sleep(time.Millisecond) {
		if now := resident(t, "VmRSS"); now != last {
			last, since = now, time.Now()
		}
	}
	return last
}

// resetPeak makes VmHWM what VmRSS is.
func resetPeak(t *testing.T) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Error(err)
	}
}
