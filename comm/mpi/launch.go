package mpi

import (
	"fmt"
	"strconv"
)

// A Launch is all that an MPI launcher has told the process that it started.
type Launch struct {
	Launcher   string // "Open MPI", "MPICH" or "Slurm"
	Rank, Size int

	family string // that the launcher starts, "" if it starts any
}

// launchers are the variables by which launchers speak, first those that mean
// one launcher alone.
var launchers = []struct {
	name, rank, size string
	family           string
}{
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", openMPI.name},
	{"MPICH", "PMI_RANK", "PMI_SIZE", mpich.name},
	{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", ""},
}

// Launched returns the words of the launcher that has started this process, and
// whether there was one. They may be wrong of this process where the
// environment was inherited from another: Join compares it.
func Launched(env func(string) (string, bool)) (*Launch, bool) {
	for _, l := range launchers {
		rank, rankOK := number(env, l.rank)
		size, sizeOK := number(env, l.size)
		if !rankOK || !sizeOK || rank >= size {
			continue
		}
		launch := &Launch{Launcher: l.name, Rank: rank, Size: size, family: l.family}
		if _, ok := number(env, "SLURM_STEP_ID"); ok && l.name == "MPICH" {
			launch.Launcher = "Slurm" // srun --mpi=pmi2 speaks as MPICH's launcher does
		}
		if _, ok := env("PMIX_NAMESPACE"); ok && l.name == "Slurm" {
			launch.family = openMPI.name
		}
		return launch, true
	}
	return nil, false
}

// number returns the value of a variable that holds a number that is not
// negative.
func number(env func(string) (string, bool), name string) (int, bool) {
	text, ok := env(name)
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n >= 0
}

// check checks that a world is the one that l has started. A nil l has started
// none, and any is.
func (l *Launch) check(rank, size int, library *Library) error {
	if l == nil || l.Size == size && l.Rank == rank {
		return nil
	}
	return fmt.Errorf("mpi: got rank %d of %d by %v, want rank %d of %d, which the launcher of %s has started "+
		"(the launcher and the library are of different MPIs: start with the mpirun of %s, or name the launcher's library by %s)",
		rank, size, library, l.Rank, l.Size, l.Launcher, library.Family, libraryVariable)
}
