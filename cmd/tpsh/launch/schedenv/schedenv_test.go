package schedenv

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// env returns an environment of NAME=VALUE words.
func env(words string) Env {
	vars := map[string]string{}
	for _, word := range strings.Fields(words) {
		name, value, _ := strings.Cut(word, "=")
		vars[name] = value
	}
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func TestFind(t *testing.T) {
	const torch = "MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "
	const slurm = "SLURM_STEP_NODELIST=gpu[07-09,11] SLURM_JOB_ID=4217 SLURM_STEP_ID=2 SLURM_LOCALID=0 SLURM_NODEID=1 "
	tests := []struct{ name, env, want string }{
		{"nothing", "HOME=/root", "nothing"},
		{"torchrun", torch + "RANK=3 WORLD_SIZE=4", "torchrun 3 of 4 at 10.0.0.1:29500"},
		{"torchrun with a store of its own", torch + "RANK=0 WORLD_SIZE=4 TORCHELASTIC_USE_AGENT_STORE=True", "torchrun 0 of 4 at 10.0.0.1:29501"},
		{"IPv6", "MASTER_ADDR=fe80::1 MASTER_PORT=29500 RANK=1 WORLD_SIZE=2", "torchrun 1 of 2 at [fe80::1]:29500"},
		{"alone", torch + "RANK=0 WORLD_SIZE=1", "torchrun 0 of 1 at 10.0.0.1:29500"},
		{"half of it", "RANK=0 WORLD_SIZE=4", "nothing"},
		{"Slurm", slurm + "SLURM_PROCID=5 SLURM_NTASKS=8", "Slurm 5 of 8 at gpu07:24233"},
		{"a step of fewer tasks", slurm + "SLURM_PROCID=1 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=2", "Slurm 1 of 2 at gpu07:24233"},
		{"a step of one task", slurm + "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=1", "Slurm 0 of 1 at gpu07:24233"},
		{"Slurm and a master", slurm + "SLURM_PROCID=5 SLURM_NTASKS=8 MASTER_ADDR=a MASTER_PORT=1234", "Slurm 5 of 8 at a:1234"},
		{"an allocation without a step", "SLURM_NTASKS=8 SLURM_JOB_ID=3", "nothing"},
		{"a bad rank", torch + "RANK=x WORLD_SIZE=4", `for variable RANK: got "x", want a number from 0`},
		{"a rank too many", torch + "RANK=4 WORLD_SIZE=4", "for variable RANK: got 4, want a number below WORLD_SIZE, which is 4"},
		{"no world", torch + "RANK=4 WORLD_SIZE=0", `for variable WORLD_SIZE: got "0", want a number from 1`},
		{"a bad port", "MASTER_ADDR=a MASTER_PORT=65535 RANK=1 WORLD_SIZE=2", "for variable MASTER_PORT: got 65535, want a port below 65535"},
		{"a bad list", "SLURM_STEP_NODELIST=a[1 SLURM_PROCID=0 SLURM_NTASKS=2", `for variable SLURM_STEP_NODELIST: got "a[1", want a list of hosts, as n[01-03,7],gpu ("a[1" lacks a ])`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := Find(env(test.env))
			got := "nothing"
			switch {
			case err != nil:
				got = err.Error()
			case p != nil:
				got = fmt.Sprintf("%s %d of %d at %s", p.From, p.Rank, p.Size, p.Rendezvous)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestIndex(t *testing.T) {
	tests := []struct {
		env  string
		want int
		err  string
	}{
		{"", -1, ""},
		{"JOB_COMPLETION_INDEX=3", 3, ""},
		{"JOB_COMPLETION_INDEX=-1", 0, `for variable JOB_COMPLETION_INDEX: got "-1", want a number from 0`},
	}
	for _, test := range tests {
		got, err := Index(env(test.env))
		if got != test.want || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("Index of %q: got %d, %v, want %d, %q", test.env, got, err, test.want, test.err)
		}
	}
}

func TestNodeList(t *testing.T) {
	tests := []struct{ list, want string }{
		{"a", "a"},
		{"a,b", "a b"},
		{"n[1-3]", "n1 n2 n3"},
		{"n[08-11,3],gpu", "n08 n09 n10 n11 n3 gpu"},
		{"r[1-2]n[01-02].x", "r1n01.x r1n02.x r2n01.x r2n02.x"},
		{"n[5]", "n5"},
	}
	for _, test := range tests {
		got, err := NodeList(test.list)
		if err != nil || !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("NodeList(%q): got %v, %v, want %s", test.list, got, err, test.want)
		}
	}
	for _, bad := range []string{"", "a,", "n[", "n[1", "n]", "n[]", "n[a]", "n[3-1]", "n[1-]", "n[1-99999999999]", "n[0-65535]m[0-65535]", "n[-1]"} {
		if got, err := NodeList(bad); err == nil {
			t.Errorf("NodeList(%q): got %d names, want an error", bad, len(got))
		}
	}
}

// Whatever a list says, it is refused or stands for some names.
func FuzzNodeList(f *testing.F) {
	for _, list := range []string{"a", "n[01-03,7],gpu", "r[1-2]n[01-02].x", "n[", "[1-9][1-9][1-9]"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names, err := NodeList(list)
		if err == nil && (len(names) == 0 || len(names) > maxNodes || slices.Contains(names, "")) {
			t.Errorf("NodeList(%q): got %d names", list, len(names))
		}
	})
}
