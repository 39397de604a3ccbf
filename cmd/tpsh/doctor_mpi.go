package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tpsh/comm/mpi"
	"tpsh/runtime/kernel"
)

// lookAtBuild says whether this binary opens libraries of the system.
func lookAtBuild() finding {
	if mpi.Built {
		return ok("native: it opens an installed MPI and an installed OpenBLAS")
	}
	return ok("plain: it opens no library of the system; on Linux %s makes one that opens an MPI and an OpenBLAS", nativeBuild)
}

// lookAtKernels says what computes.
func lookAtKernels() finding {
	if best := kernel.Best(); best != kernel.Portable {
		return ok("%s, the best that this processor has; --kernels takes %s", best, orList(kernelNames(kernel.Sets())))
	}
	return ok("portable: this processor has none of the instructions that tpsh has faster ones for")
}

// lookForMPI says which library --transport mpi would open, and whether it is
// that of the launcher, if one has started this process.
func lookForMPI() finding {
	if !mpi.Built {
		found := libraries("libmpi.so*", "libmpich.so*", "libmpi.*dylib", "msmpi.dll")
		if len(found) == 0 {
			return none("no libmpi found; this build opens none")
		}
		return none("%s; this build opens none", strings.Join(found, ", "))
	}
	library, err := mpi.Find(os.LookupEnv)
	if err != nil {
		return none("%v", err)
	}
	l := underMPI(os.LookupEnv)
	switch {
	case l == nil:
		return ok("%v; a launcher of the other family would find its own, and TPSH_MPI may name one", library)
	case l.Launcher != "Slurm" && l.Launcher != library.Family:
		return failure("%v, but the launcher of %s has started this process: use the launcher of %s, or name another library by TPSH_MPI", library, l.Launcher, library.Family)
	}
	return ok("%v; the launcher of %s has started this process as rank %d of %d", library, l.Launcher, l.Rank, l.Size)
}

// launcherNames are the commands that may start the ranks of an MPI.
var launcherNames = []string{"mpirun", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra"}

// launcherCommands returns the paths of the launchers that are installed, each
// once.
func launcherCommands() []string {
	var paths []string
	seen := map[string]bool{}
	for _, name := range launcherNames {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err == nil && !seen[real] {
			seen[real] = true
			paths = append(paths, path)
		}
	}
	return paths
}

// tryMPI has two ranks meet by every launcher that there is.
func tryMPI() finding {
	switch launchers := launcherCommands(); {
	case !mpi.Built:
		return none("this build opens no MPI library")
	case underMPI(os.LookupEnv) != nil:
		return none("not tried by a process that a launcher has started")
	case len(launchers) == 0:
		return none("no %s found: install Open MPI or MPICH; on Slurm srun starts the ranks", orList(launcherNames))
	default:
		return tryLaunchers(launchers)
	}
}

func tryLaunchers(launchers []string) finding {
	var tried []string
	for _, path := range launchers {
		since := time.Now()
		if err := meetBy(path); err != nil {
			return failure("%s -n 2 tpsh run --transport mpi: %v", path, err)
		}
		tried = append(tried, fmt.Sprintf("%s in %v", path, time.Since(since).Round(time.Millisecond)))
	}
	return ok("an MPI moves what ranks send; 2 ranks started, met and ended by %s", strings.Join(tried, ", by "))
}

// meetBy has a launcher start two ranks of this program that meet.
func meetBy(launcher string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir := newScratch()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "meet.star")
	if err := os.WriteFile(script, []byte("barrier()\n"), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, launcher, "-n", "2", self, "run", "--transport", viaMPI, script)
	cmd.Env = append(os.Environ(), lenientMPI...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends what it has started
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

// lenientMPI has Open MPI's mpirun start processes for root, too, and more than
// there are cores. Other launchers do not look at it.
var lenientMPI = []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1"}
