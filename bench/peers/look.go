package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A needing is a peer of a table or of a grid: its name, and the module of Python
// without which it is not there, "" if it needs none.
type needing interface{ needs() (name, module string) }

func (p peer) needs() (name, module string)     { return p.name, p.module }
func (p gridPeer) needs() (name, module string) { return p.name, p.module }

// modules returns the modules that peers need, in their order and each once.
func modules[P needing](peers []P) []string {
	var all []string
	for _, p := range peers {
		if _, module := p.needs(); module != "" && !slices.Contains(all, module) {
			all = append(all, module)
		}
	}
	return all
}

// titles are what modules are called in a table.
var titles = map[string]string{"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX", "mpi4py.MPI": "Open MPI"}

// versionScript prints the version of the module that it is given: of an MPI that of
// the library which was found.
const versionScript = `
import importlib, re, sys
m = importlib.import_module(sys.argv[1])
text = m.Get_library_version() if hasattr(m, "Get_library_version") else m.__version__
print(re.search(r"\d+(\.\d+)+", text).group())
`

// look finds out which peers are installed, and their versions.
func (h *harness) look(ctx context.Context) error {
	if _, err := exec.LookPath(h.python); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
	}
	absent := map[string]string{}
	for _, module := range slices.Concat(modules(peers), modules(gridPeers)) {
		args := []string{h.python, "-c", versionScript, module}
		if module == "mpi4py.MPI" { // finds another library under a launcher than alone
			args = append(h.mpirun(1), args...)
		}
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env = append(os.Environ(), mpiVariable)
		var complaint strings.Builder
		cmd.Stderr = &complaint
		out, err := cmd.Output()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			absent[module] = lastLine(complaint.String(), err)
		} else {
			h.versions[module] = strings.TrimSpace(string(out))
		}
	}
	note(h, absent, peers)
	note(h, absent, gridPeers)
	return nil
}

// note notes of peers why they are not there, if the module of one is absent.
func note[P needing](h *harness, absent map[string]string, peers []P) {
	for _, p := range peers {
		if name, module := p.needs(); absent[module] != "" {
			h.missing[name] = absent[module]
		}
	}
}

// versionsOf returns the versions of those of the modules that are there, as a page
// names them: "NumPy 2.4.0, PyTorch 2.15.0".
func (h *harness) versionsOf(modules []string) string {
	var all []string
	for _, m := range modules {
		if v := h.versions[m]; v != "" {
			all = append(all, titles[m]+" "+v)
		}
	}
	return strings.Join(all, ", ")
}
