package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// An arrow is a row of arrows.
type arrow struct {
	pkg     string
	imports []string
	why     string
}

// arrows says which packages of ours a package may import, and why no more. A
// name ending in /... stands for the packages below it, too.
var arrows = []arrow{
	{"tpsh/cmd/tpsh", []string{"tpsh/lang/...", "tpsh/builtins/...", "tpsh/runtime/...", "tpsh/cmd/tpsh/launch", "tpsh/cmd/tpsh/perfetto", "tpsh/cmd/tpsh/chakra", "tpsh/cmd/tpsh/report", "tpsh/cmd/tpsh/tracediff", "tpsh/cmd/tpsh/launch/schedenv", "tpsh/cmd/tpsh/vocabularies", "tpsh/cmd/tpsh/hang", "tpsh/cmd/tpsh/kineto", "tpsh/comm/mpi"}, "the command introduces the language to its front ends"},
	{"tpsh/cmd/tpsh/launch", []string{"tpsh/lang", "tpsh/comm", "tpsh/comm/process", "tpsh/comm/process/shm", "tpsh/comm/bootstrap", "tpsh/cmd/tpsh/launch/proc"}, "ranks become processes, with connections for a front end; what they run is not known"},
	{"tpsh/python/build", nil, "an archive is made of files; that it holds the command, go build knows"},
	{"tpsh/cmd/tpsh/launch/proc", nil, "a process is a thing of the kernel"},
	{"tpsh/cmd/tpsh/launch/schedenv", nil, "an environment is a list of words"},
	{"tpsh/cmd/tpsh/launch/launchtest", nil, "an address of a test is a number that nobody else uses"},
	{"tpsh/cmd/tpsh/kineto", []string{"tpsh/runtime/timeline"}, "a profiler's trace is a file of events"},
	{"tpsh/cmd/tpsh/tracediff", nil, "two files of figures are compared; no run is known"},
	{"tpsh/cmd/tpsh/hang", []string{"tpsh/builtins/pickle"}, "what a job of PyTorch left behind is files; no rank of ours has to do with it"},
	{"tpsh/cmd/tpsh/vocabularies", []string{"tpsh/builtins/..."}, "the command has these vocabularies"},
	{"tpsh/lang", []string{"tpsh/lang/halt", "tpsh/lang/source", "tpsh/lang/operator", "tpsh/lang/advice"}, "programs and reports know no tensors"},
	{"tpsh/lang/halt", nil, "where a thread stops is lines and depths of calls"},
	{"tpsh/lang/advice", nil, "advice is sentences"},
	{"tpsh/lang/source", nil, "a source is text"},
	{"tpsh/lang/source/sourcetest", nil, "programs are files"},
	{"tpsh/lang/analysis", []string{"tpsh/lang", "tpsh/lang/source"}, "what a program says is in its text; of values it is told, and it reads no file"},
	{"tpsh/lang/lsp", []string{"tpsh/lang", "tpsh/lang/analysis", "tpsh/lang/check", "tpsh/lang/format", "tpsh/lang/source"}, "an editor is told what is known of texts; what runs them is given"},
	{"tpsh/lang/check", []string{"tpsh/lang", "tpsh/lang/analysis", "tpsh/lang/source"}, "a checker knows trees, and of values what it is told"},
	{"tpsh/lang/format", []string{"tpsh/lang/source"}, "a formatter knows text and trees"},
	{"tpsh/lang/operator", []string{"tpsh/lang/source", "tpsh/builtins/pyfmt"}, "a notation knows numbers and text; other values say themselves what it means"},
	{"tpsh/lang/repl", []string{"tpsh/lang", "tpsh/lang/debug", "tpsh/lang/halt", "tpsh/lang/source", "tpsh/lang/repl/edit"}, "the shell is one front end of a session"},
	{"tpsh/lang/debug/dap", []string{"tpsh/lang", "tpsh/lang/debug", "tpsh/lang/halt"}, "a protocol is another way to say what a prompt does"},
	{"tpsh/lang/debug", []string{"tpsh/lang", "tpsh/lang/halt"}, "a debugger is told of ranks what they say, as a front end is"},
	{"tpsh/lang/repl/edit", nil, "a line editor knows keys and letters; what is a statement it is told"},
	{"tpsh/lang/testrun", []string{"tpsh/lang"}, "the test runner is another"},
	{"tpsh/builtins", []string{"tpsh/builtins/arg", "tpsh/builtins/object", "tpsh/builtins/pyfmt", "tpsh/lang/operator", "tpsh/lang/advice", "tpsh/runtime/...", "tpsh/mesh"}, "values of the language know ranks and tensors, not who runs them, and no vocabulary"},
	{"tpsh/builtins/files", []string{"tpsh/builtins", "tpsh/builtins/dtensor", "tpsh/builtins/arg", "tpsh/builtins/npy", "tpsh/builtins/csv", "tpsh/builtins/tokenizer", "tpsh/builtins/safetensors", "tpsh/builtins/tensorfiles", "tpsh/builtins/torchfile", "tpsh/builtins/sandbox", "tpsh/runtime/...", "tpsh/mesh"}, "files hold tensors, whole or in parts"},
	{"tpsh/builtins/colossal", []string{"tpsh/builtins", "tpsh/builtins/dtensor", "tpsh/builtins/nn", "tpsh/builtins/collective", "tpsh/builtins/arg", "tpsh/runtime/...", "tpsh/mesh"}, "ColoTensors are distributed tensors with specs"},
	{"tpsh/builtins/dtensor", []string{"tpsh/builtins", "tpsh/builtins/nn", "tpsh/builtins/collective", "tpsh/builtins/arg", "tpsh/runtime/...", "tpsh/mesh"}, "distributed tensors, and modules that are made of them"},
	{"tpsh/builtins/jax", []string{"tpsh/builtins", "tpsh/builtins/dtensor", "tpsh/builtins/spmd", "tpsh/builtins/arg", "tpsh/runtime/...", "tpsh/mesh"}, "JAX has other words for distributed tensors and types"},
	{"tpsh/builtins/spmd", []string{"tpsh/builtins", "tpsh/builtins/dtensor", "tpsh/builtins/collective", "tpsh/builtins/arg", "tpsh/runtime/...", "tpsh/mesh"}, "types of local tensors are along the axes of meshes, and collectives change them"},
	{"tpsh/builtins/nn", []string{"tpsh/builtins", "tpsh/builtins/arg", "tpsh/mesh", "tpsh/runtime/..."}, "modules know tensors, and no other vocabulary"},
	{"tpsh/builtins/collective", []string{"tpsh/builtins", "tpsh/builtins/arg", "tpsh/builtins/object", "tpsh/runtime/..."}, "what is sent are tensors and values, and no other vocabulary is known"},
	{"tpsh/builtins/builtinstest", []string{"tpsh/builtins", "tpsh/lang/source", "tpsh/lang/operator", "tpsh/runtime"}, "scripts are tested as the front ends run them, whatever their vocabulary"},
	{"tpsh/builtins/arg", []string{"tpsh/runtime/..."}, "arguments are unpacked into what operators take"},
	{"tpsh/builtins/npy", nil, "a file format knows bytes"},
	{"tpsh/builtins/safetensors", nil, "a file format knows bytes"},
	{"tpsh/builtins/pickle", nil, "a file format knows bytes"},
	{"tpsh/builtins/csv", nil, "a file format knows bytes"},
	{"tpsh/builtins/tokenizer", []string{"tpsh/builtins/tokenizer/pattern"}, "a file format knows bytes, and text"},
	{"tpsh/builtins/tokenizer/pattern", nil, "a pattern knows text"},
	{"tpsh/builtins/torchfile", []string{"tpsh/builtins/pickle"}, "a file format knows bytes, and what they are pickled in"},
	{"tpsh/builtins/dcp", []string{"tpsh/builtins/pickle", "tpsh/builtins/torchfile"}, "a file format knows bytes, and the format of its entries"},
	{"tpsh/builtins/rundiff", []string{"tpsh/builtins/tensorfiles", "tpsh/builtins/torchfile", "tpsh/builtins/npy", "tpsh/runtime/ckpt", "tpsh/mesh"}, "two runs are files of numbers and how meshes cut them; programs are not known"},
	{"tpsh/builtins/tensorfiles", []string{"tpsh/builtins/dcp", "tpsh/builtins/torchfile", "tpsh/builtins/pickle", "tpsh/builtins/safetensors", "tpsh/runtime/ckpt", "tpsh/mesh"}, "formats meet here, as files and boxes; ranks are not known"},
	{"tpsh/builtins/object", nil, "values travel as bytes"},
	{"tpsh/builtins/pyfmt", nil, "a format language knows numbers and text"},
	{"tpsh/builtins/sandbox", nil, "a sandbox knows files"},
	{"tpsh/runtime", []string{"tpsh/runtime/...", "tpsh/mesh", "tpsh/comm", "tpsh/comm/alike", "tpsh/comm/inproc", "tpsh/comm/process"}, "ranks know no scripts"},
	{"tpsh/runtime/shard", []string{"tpsh/runtime/grad", "tpsh/runtime/op", "tpsh/runtime/kernel", "tpsh/runtime/tensor", "tpsh/runtime/dtype", "tpsh/runtime/shape", "tpsh/mesh", "tpsh/comm"}, "layouts and communication meet here alone"},
	{"tpsh/runtime/grad", []string{"tpsh/runtime/op", "tpsh/runtime/tensor", "tpsh/runtime/spmdtype", "tpsh/runtime/dtype", "tpsh/runtime/shape", "tpsh/mesh"}, "gradients are made of operators"},
	{"tpsh/runtime/op", []string{"tpsh/runtime/kernel", "tpsh/runtime/kernel/crew", "tpsh/runtime/kernel/gemm", "tpsh/runtime/kernel/conv", "tpsh/runtime/kernel/lapack", "tpsh/runtime/rng", "tpsh/runtime/tensor", "tpsh/runtime/dtype", "tpsh/runtime/shape", "tpsh/mesh"}, "operators know one rank"},
	{"tpsh/runtime/typing", []string{"tpsh/runtime/op", "tpsh/runtime/spmdtype", "tpsh/runtime/tensor", "tpsh/mesh"}, "what an operator makes of types is in its rule"},
	{"tpsh/runtime/spmdtype", nil, "a type of a local tensor is a name and a number"},
	{"tpsh/runtime/op/optest", nil, "the tests of the table see what a user of it sees"},
	{"tpsh/runtime/kernel", []string{"tpsh/runtime/kernel/...", "tpsh/runtime/dtype"}, "kernels are loops over flat slices"},
	{"tpsh/runtime/kernel/vec", []string{"tpsh/runtime/dtype"}, "vector kernels are loops over flat slices, too"},
	{"tpsh/runtime/kernel/peak", []string{"tpsh/runtime/kernel/vec"}, "the limit of a kernel is that of its instructions"},
	{"tpsh/runtime/kernel/lapack", []string{"tpsh/runtime/kernel/gemm", "tpsh/runtime/kernel/vec"}, "decompositions are of flat slices, and made of products"},
	{"tpsh/runtime/kernel/conv", []string{"tpsh/runtime/kernel/crew", "tpsh/runtime/kernel/gemm", "tpsh/runtime/kernel/vec", "tpsh/runtime/dtype"}, "a convolution is products of windows, and sums of such"},
	{"tpsh/runtime/kernel/blas", nil, "a library of C knows pointers"},
	{"tpsh/runtime/kernel/crew", nil, "cores help whatever is computed"},
	{"tpsh/runtime/kernel/gemm", []string{"tpsh/runtime/kernel/crew", "tpsh/runtime/kernel/vec", "tpsh/runtime/dtype"}, "a product chooses among sets of instructions as all kernels do"},
	{"tpsh/runtime/pipeline", nil, "a schedule is integer arithmetic"},
	{"tpsh/runtime/rng", []string{"tpsh/runtime/kernel/vec", "tpsh/runtime/dtype"}, "random numbers are a function of integers"},
	{"tpsh/runtime/ckpt", []string{"tpsh/mesh", "tpsh/runtime/dtype"}, "a checkpoint is files and layouts; it knows no tensors and no ranks"},
	{"tpsh/runtime/hardware", []string{"tpsh/runtime/dtype", "tpsh/internal/spell"}, "a machine is numbers: it knows no script, no tensor and no run"},
	{"tpsh/runtime/tensor", []string{"tpsh/runtime/spmdtype", "tpsh/runtime/dtype", "tpsh/runtime/shape", "tpsh/mesh"}, "storage knows no operators"},
	{"tpsh/runtime/timeline", nil, "events of a run are numbers and text"},
	{"tpsh/cmd/tpsh/perfetto", []string{"tpsh/runtime/timeline"}, "a format knows what it writes"},
	{"tpsh/cmd/tpsh/chakra", []string{"tpsh/runtime/plan"}, "another format knows what it writes: events of a plan"},
	{"tpsh/cmd/tpsh/report", []string{"tpsh/runtime/timeline", "tpsh/runtime/plan"}, "a page knows what it shows: events of a run, figures of a plan"},
	{"tpsh/runtime/hardware/fit", []string{"tpsh/runtime/hardware", "tpsh/runtime/dtype"}, "constants are fitted to numbers: what was run is not known"},
	{"tpsh/runtime/plan", []string{"tpsh/runtime/hardware", "tpsh/runtime/dtype"}, "what ranks do is played on a machine by whoever has a record of it"},
	{"tpsh/runtime/dtype", nil, "dtypes stand on nothing"},
	{"tpsh/runtime/shape", nil, "shapes stand on nothing"},
	{"tpsh/internal/vt", nil, "a terminal is letters in places"},
	{"tpsh/internal/allowance", nil, "what a machine leaves stands on nothing"},
	{"tpsh/internal/crc32c", nil, "a checksum is of bytes"},
	{"tpsh/internal/lazyregexp", nil, "an expression is a text until it is used"},
	{"tpsh/internal/libm", nil, "arithmetic is of numbers"},
	{"tpsh/internal/units", nil, "quantities are texts in the end"},
	{"tpsh/internal/spell", nil, "a misspelling is letters"},
	{"tpsh/internal/ranklist", nil, "a list of ranks is numbers, and a text in the end"},
	{"tpsh/mesh", nil, "sharding is integer arithmetic"},
	{"tpsh/comm", []string{"tpsh/comm/schedule"}, "communication moves bytes"},
	{"tpsh/comm/schedule", nil, "a schedule is integer arithmetic; a simulator proves it"},
	{"tpsh/comm/deadlock", []string{"tpsh/comm"}, "who waits for whom is a graph and a machine; they move nothing and wait for nothing"},
	{"tpsh/comm/mailbox", []string{"tpsh/comm", "tpsh/comm/schedule"}, "messages are matched with receives, whatever carries them"},
	{"tpsh/comm/inproc", []string{"tpsh/comm", "tpsh/comm/schedule", "tpsh/comm/deadlock", "tpsh/comm/mailbox"}, "goroutines share memory and need no codec"},
	{"tpsh/comm/alike", []string{"tpsh/comm", "tpsh/comm/schedule"}, "ranks that do the same are told apart by what they ask; no data is moved"},
	{"tpsh/comm/wire", []string{"tpsh/comm", "tpsh/comm/schedule", "tpsh/comm/deadlock", "tpsh/comm/mailbox"}, "a codec knows what it encodes, and no connection"},
	{"tpsh/comm/bootstrap", []string{"tpsh/comm/wire"}, "connections are made and trusted before anything is said on them"},
	{"tpsh/comm/process", []string{"tpsh/comm", "tpsh/comm/schedule", "tpsh/comm/deadlock", "tpsh/comm/mailbox", "tpsh/comm/wire", "tpsh/comm/bootstrap", "tpsh/comm/process/..."}, "ranks that exchange messages"},
	{"tpsh/comm/process/shm", []string{"tpsh/comm", "tpsh/comm/schedule", "tpsh/comm/wire"}, "shared memory is bytes; it knows no ranks"},
	{"tpsh/comm/process/spin", nil, "how to wait depends on nothing"},
	{"tpsh/comm/process/stream", []string{"tpsh/comm/wire", "tpsh/comm/bootstrap", "tpsh/comm/process/spin"}, "streams bring frames to a host; they know no ranks' calls"},
	{"tpsh/comm/process/tcp", []string{"tpsh/comm/wire", "tpsh/comm/bootstrap", "tpsh/comm/process/spin", "tpsh/comm/process/stream"}, "connections bring frames to a host, too"},
	{"tpsh/comm/mpi", []string{"tpsh/comm/process", "tpsh/comm/process/stream"}, "an MPI moves bytes, too"},
	{"tpsh/comm/commtest", []string{"tpsh/comm"}, "the conformance suite sees what a user of comm sees"},
	{"tpsh/bench/growth", nil, "growth is that of the command that people run"},
	{"tpsh/bench/here", nil, "plans and runs are compared by the commands that people run"},
	{"tpsh/bench/peers", nil, "peers are compared by the commands that people run"},
	{"tpsh/bench/ranks", []string{"tpsh/comm", "tpsh/comm/process", "tpsh/comm/process/shm", "tpsh/comm/bootstrap", "tpsh/comm/mpi", "tpsh/runtime/kernel", "tpsh/runtime/dtype", "tpsh/runtime/tensor"}, "a transport is measured with the kernels that reduce on it, in the memory that tensors have, and no script"},
	{"tpsh/bench/soak", nil, "what is watched is the command that people run"},
	{"tpsh/embed", []string{"tpsh/lang", "tpsh/builtins", "tpsh/cmd/tpsh/vocabularies", "tpsh/runtime", "tpsh/runtime/op", "tpsh/runtime/tensor", "tpsh/runtime/dtype", "tpsh/runtime/shape"}, "a front end for programs in Go: values in, values out"},
	{"tpsh/bench", []string{"tpsh/lang/...", "tpsh/builtins/...", "tpsh/runtime/...", "tpsh/comm"}, "benchmarks see everything"},
	{"tpsh/bench/operators", []string{"tpsh/lang"}, "whose test reads the program that it makes"},
}

// ofVocabularies is what a vocabulary may import that has no row of its own: it knows the
// host, and no other vocabulary.
var ofVocabularies = []string{"tpsh/builtins", "tpsh/builtins/arg", "tpsh/mesh", "tpsh/runtime/..."}

const vocabularies = "tpsh/cmd/tpsh/vocabularies"

// anywhere are the packages that every other may import: they know texts, bytes and numbers, and what there is of the machine.
var anywhere = []string{"tpsh/internal/spell", "tpsh/internal/lazyregexp", "tpsh/internal/libm", "tpsh/internal/units", "tpsh/internal/allowance", "tpsh/internal/crc32c", "tpsh/internal/ranklist"}

// Imports point one way.
func TestImports(t *testing.T) {
	list := exec.Command("go", "list", "-json=ImportPath,Imports", "tpsh/...")
	list.Env = append(os.Environ(), "GOWORK=off") // the generators are modules of their own
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	imports := map[string][]string{}
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		imports[p.ImportPath] = p.Imports
	}
	if len(imports) < 10 || len(imports[vocabularies]) < 5 {
		t.Errorf("go list found %d packages and %d vocabularies, want all of them", len(imports), len(imports[vocabularies]))
	}
	all := slices.Clone(arrows)
	for _, v := range imports[vocabularies] {
		if !slices.ContainsFunc(arrows, func(a arrow) bool { return a.pkg == v }) {
			all = append(all, arrow{v, ofVocabularies, "a vocabulary knows no other, unless a row of arrows in cmd/tpsh/imports_test.go says why"})
		}
	}
	for pkg, list := range imports {
		checkImports(t, all, pkg, list)
	}
}

func checkImports(t *testing.T, all []arrow, pkg string, imports []string) {
	for _, a := range all {
		if a.pkg != pkg {
			continue
		}
		for _, i := range imports {
			if strings.HasPrefix(i, "tpsh/") && !allowed(i, anywhere) && !allowed(i, a.imports) {
				t.Errorf("%s imports %s: %s", pkg, i, a.why)
			}
			if strings.HasPrefix(i, "go.starlark.net") && !strings.HasPrefix(pkg, "tpsh/lang") && !strings.HasPrefix(pkg, "tpsh/builtins") && !strings.HasPrefix(pkg, "tpsh/cmd") && pkg != "tpsh/embed" && pkg != "tpsh/bench" {
				t.Errorf("%s imports %s: only the language knows Starlark", pkg, i)
			}
		}
		return
	}
	t.Errorf("package %s has no row in arrows, in cmd/tpsh/imports_test.go; a vocabulary needs none once it has its line in cmd/tpsh/vocabularies/vocabularies.go", pkg)
}

// allowed reports whether path is one of patterns.
func allowed(path string, patterns []string) bool {
	for _, p := range patterns {
		base, below := strings.CutSuffix(p, "/...")
		if path == base || below && strings.HasPrefix(path, base+"/") {
			return true
		}
	}
	return false
}
