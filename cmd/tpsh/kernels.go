package main

import (
	"cmp"
	"flag"
	"runtime"
	"strings"

	"tpsh/cmd/tpsh/launch"
	"tpsh/runtime/kernel"
)

// kernels are the flags about what computes. Every process of a job is given
// those of its own launcher: hosts may differ in what they have.
type kernels struct {
	set  string // the name of a kernel.Set, or auto; "" is auto
	blas string // what multiplies matrices: own or openblas; "" is own
}

// bestKernels asks for the best set of instructions of a machine.
const bestKernels = "auto"

// ownBLAS asks for the products of tpsh.
const ownBLAS = "own"

func (k *kernels) declare(fs *flag.FlagSet) {
	fs.StringVar(&k.set, "kernels", bestKernels, "compute with `SET` of instructions: "+orList(kernelNames(kernel.Known())))
	fs.StringVar(&k.blas, "blas", ownBLAS, "multiply matrices with `LIBRARY`: own, or in a build with -tags native openblas, the one installed, which adds in an order of its own")
}

// check returns a usage error unless this machine has what is asked for.
func (k *kernels) check() error {
	if _, err := k.choose(); err != nil {
		return usagef("for flag --kernels: got %q, want %s (what this machine has)", k.set, orList(kernelNames(kernel.Sets())))
	}
	if _, err := kernel.ChooseBLAS(cmp.Or(k.blas, ownBLAS)); err != nil {
		return usagef("for flag --blas: %w", err)
	}
	return nil
}

// choose returns the set of instructions that kernels are to run in.
func (k *kernels) choose() (kernel.Set, error) { return kernel.Choose(cmp.Or(k.set, bestKernels)) }

// kernelNames returns what --kernels takes where there are such sets.
func kernelNames(sets []kernel.Set) []string {
	names := []string{bestKernels}
	for _, s := range sets {
		names = append(names, s.String())
	}
	return names
}

// orList returns words as a sentence lists them: "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// use makes the ranks of this process compute as k says, which check has found
// right. It is called before they do.
func (k *kernels) use() {
	if set, err := k.choose(); err == nil && set != kernel.Active() {
		kernel.Use(set)
	}
	if l, err := kernel.ChooseBLAS(cmp.Or(k.blas, ownBLAS)); err == nil && l != nil && kernel.ActiveBLAS() == nil {
		kernel.UseBLAS(l)
	}
}

// computing returns what the ranks of this process compute with, in words. Those
// of a job agree on it, since else its bits would depend on where ranks are: what Go
// itself computes in float64 differs in the last bit between processors, too, since it
// multiplies and adds in one step where they can. AMX is taken for AVX-512, which it
// replaces in products of bfloat16 with the same bits: hosts of one cloud differ in it.
func computing() string {
	set := kernel.Active()
	if set == kernel.AMX {
		set = kernel.AVX512
	}
	text := set.String() + " of " + runtime.GOARCH
	if l := kernel.ActiveBLAS(); l != nil {
		text += " and " + l.Config
	}
	return text
}

// Words by which a launcher tells its workers what flags it was given.
const (
	kernelsWord = "kernels="
	blasWord    = "blas="
)

// tell gives k to the workers of a launcher, which says to those of other nodes what
// they will compute with.
func (k *kernels) tell(o *launch.Options) {
	o.Args = k.words()
	if o.Nodes > 1 {
		k.use()
		o.Kernels = computing()
	}
}

// words returns k for the command line of a worker.
func (k *kernels) words() []string {
	var words []string
	if k.set != "" && k.set != bestKernels {
		words = append(words, kernelsWord+k.set)
	}
	if k.blas != "" && k.blas != ownBLAS {
		words = append(words, blasWord+k.blas)
	}
	return words
}

// kernelsOf returns the kernels whose words are in a worker's command line.
func kernelsOf(args []string) *kernels {
	k := &kernels{}
	for _, a := range args {
		if set, ok := strings.CutPrefix(a, kernelsWord); ok {
			k.set = set
		}
		if blas, ok := strings.CutPrefix(a, blasWord); ok {
			k.blas = blas
		}
	}
	return k
}
