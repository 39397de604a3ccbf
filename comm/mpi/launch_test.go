package mpi

import (
	"fmt"
	"strings"
	"testing"
)

// environment returns what looks variables up in "A=1 B=2".
func environment(text string) func(string) (string, bool) {
	values := map[string]string{}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		values[name] = value
	}
	return func(name string) (string, bool) { v, ok := values[name]; return v, ok }
}

func TestLaunched(t *testing.T) {
	for _, test := range []struct{ env, want string }{
		{"", "none"},
		{"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4", "Open MPI 2 of 4, Open MPI"},
		{"PMI_RANK=0 PMI_SIZE=1", "MPICH 0 of 1, MPICH"},
		{"SLURM_PROCID=5 SLURM_NTASKS=6", "Slurm 5 of 6, "},
		{"SLURM_PROCID=5 SLURM_NTASKS=6 PMIX_NAMESPACE=x", "Slurm 5 of 6, Open MPI"},
		{"SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_STEP_ID=0 PMI_RANK=1 PMI_SIZE=2", "Slurm 1 of 2, MPICH"},
		{"SLURM_PROCID=0 SLURM_NTASKS=9 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3", "Open MPI 1 of 3, Open MPI"},
		{"PMI_RANK=0", "none"},
		{"PMI_RANK=x PMI_SIZE=2", "none"},
		{"PMI_RANK=-1 PMI_SIZE=2", "none"},
		{"PMI_RANK=2 PMI_SIZE=2", "none"},
		{"OMPI_COMM_WORLD_RANK= OMPI_COMM_WORLD_SIZE=4 PMI_RANK=1 PMI_SIZE=2", "MPICH 1 of 2, MPICH"},
	} {
		got := "none"
		if l, ok := Launched(environment(test.env)); ok {
			got = fmt.Sprintf("%s %d of %d, %s", l.Launcher, l.Rank, l.Size, l.family)
		}
		if got != test.want {
			t.Errorf("%q: got %s, want %s", test.env, got, test.want)
		}
	}
}

// A world that is not the one that was launched is refused, and both are named.
func TestLaunchCheck(t *testing.T) {
	library := &Library{Path: "/lib/libmpich.so.12", Version: "4.0.2", Family: "MPICH"}
	launch := &Launch{Launcher: "Open MPI", Rank: 1, Size: 4}
	if err := launch.check(1, 4, library); err != nil {
		t.Errorf("the same world: got %v", err)
	}
	if err := (*Launch)(nil).check(0, 1, library); err != nil {
		t.Errorf("no launcher: got %v", err)
	}
	for _, other := range [][2]int{{0, 1}, {0, 4}, {1, 5}} {
		err := launch.check(other[0], other[1], library)
		want := fmt.Sprintf("mpi: got rank %d of %d by MPICH 4.0.2 (/lib/libmpich.so.12), want rank 1 of 4, which the launcher of Open MPI has started", other[0], other[1])
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("rank %d of %d: got %v, want %s", other[0], other[1], err, want)
		}
	}
}
