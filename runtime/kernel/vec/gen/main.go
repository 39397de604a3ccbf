// Command gen writes the kernels of package vec. Each is a loop over elements,
// whose steps are recorded once, as expressions, and written four times: in
// AVX-512, in AVX2, in NEON and in Go. So the four compute alike. Where AVX-512 has
// one instruction for several steps (k.wide), it gives the bits that they give.
//
// Functions of one number are in functions.go, kernels in kernels.go and its neighbours. To add a
// kernel, add an entry there and run go generate in the folder of package vec.
//
// An expression is a node of a graph (expr.go): an element of an input, a constant, or
// an operation on others. A kernel (kernel.go) is expressions and where they are
// stored. asm.go and steps.go write it in AVX-512 and AVX2, neon.go, neon_steps.go and
// neon_memory.go in NEON, golang.go as a loop in Go, and dispatch.go what chooses between them when the
// program starts. What is written is committed; a build runs nothing of this.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"

	"github.com/mmcloughlin/avo/build"
)

var set = flag.String("set", "", "avx512, avx2, neon, or go")

func main() {
	flag.Parse()
	all := kernels()
	switch *set {
	case "go":
		writePortable("../portable.go", all)
		writeDispatch("../dispatch_amd64.go", all, "", (*kernel).chooser)
		writeDispatch("../dispatch_arm64.go", all, "", (*kernel).neonOrGo)
		writeDispatch("../dispatch_other.go", all, "!amd64 && !arm64", (*kernel).callGo)
		return
	case "neon":
		writeNEON("../neon_arm64.s", "../neon_arm64.go", all)
	case "avx512", "avx2":
		s := &assembler{wide: *set == "avx512"}
		s.writePool(all)
		for _, k := range all {
			s.write(k)
		}
		build.Generate()
		out := flag.Lookup("out").Value.String()
		dropSelfMoves(out)
		if !s.wide {
			refuseWide(out)
		}
	default:
		panic("-set is missing")
	}
}

// selfMove matches a move of a register to itself, which remains where the
// allocator has given two values one register.
var selfMove = regexp.MustCompile(`(?m)^\tVMOV[AU]PS +([YZ]\d+), ([YZ]\d+)\n`)

// dropSelfMoves removes self moves from a file.
func dropSelfMoves(path string) {
	src, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	src = selfMove.ReplaceAllFunc(src, func(line []byte) []byte {
		if m := selfMove.FindSubmatch(line); string(m[1]) == string(m[2]) {
			return nil
		}
		return line
	})
	if err := os.WriteFile(path, src, 0o666); err != nil {
		panic(err)
	}
}

// ofAVX512 matches an instruction with a register that AVX2 does not have.
var ofAVX512 = regexp.MustCompile(`(?m)^\t.*\b([XY](1[6-9]|2\d|3[01])|Z\d+|K[1-7])\b.*$`)

// refuseWide panics if functions of AVX2 in a file use registers of AVX-512, as the allocator does
// when it runs out of the others.
func refuseWide(path string) {
	src, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	if line := ofAVX512.Find(src); line != nil {
		panic(fmt.Sprintf("%s: a function needs more than 16 registers:%s", path, line))
	}
}
