// Package schedenv reads what the launchers of clusters tell the processes that
// they start: torchrun, Slurm, and Kubernetes for the pods of an indexed Job.
// It looks at an environment and does nothing else.
//
// Find returns the Place of this process in a job: its number, how many there are, and
// the address at which process 0 listens. It is nil where no launcher said anything,
// and an error where what one said makes no sense. Index is the number of a pod,
// and NodeList writes out Slurm's short form of a list of hosts. For example, with
// SLURM_NODELIST=node[1-3,7]
//
//	hosts, err := schedenv.NodeList("node[1-3,7]")  // node1 node2 node3 node7
//	place, err := schedenv.Find(os.LookupEnv)
package schedenv

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// A Place is where in a job a process stands that a launcher has started.
type Place struct {
	From       string // the launcher's name
	Rank, Size int    // of the process among those of the job
	Rendezvous string // HOST:PORT that all can reach, where process 0 is to listen
}

// An Env is an environment, as os.LookupEnv is.
type Env func(name string) (value string, ok bool)

// Find returns the place that the environment tells, or nil if no launcher has
// started the process. It may be the only one of the job.
func Find(env Env) (*Place, error) {
	for _, find := range []func(reader) (*Place, error){torchrun, slurm} {
		p, err := find(reader{env})
		if err != nil {
			return nil, err
		}
		if p != nil {
			return p, nil
		}
	}
	return nil, nil
}

// Index returns the completion index of a pod of an indexed Kubernetes Job, or
// -1 if the process is in none.
func Index(env Env) (int, error) {
	r := reader{env}
	if !r.has("JOB_COMPLETION_INDEX") {
		return -1, nil
	}
	return r.number("JOB_COMPLETION_INDEX", 0)
}

// A reader reads variables.
type reader struct{ env Env }

func (r reader) has(name string) bool {
	v, ok := r.env(name)
	return ok && v != ""
}

func (r reader) text(name string) string {
	v, _ := r.env(name)
	return v
}

// number returns the number that a variable holds, which is at least low.
func (r reader) number(name string, low int) (int, error) {
	v := r.text(name)
	n, err := strconv.Atoi(v)
	if err != nil || n < low {
		return 0, fmt.Errorf("for variable %s: got %q, want a number from %d", name, v, low)
	}
	return n, nil
}

// place reads a rank and a size.
func (r reader) place(from, rank, size string) (*Place, error) {
	p := &Place{From: from}
	var err error
	if p.Size, err = r.number(size, 1); err != nil {
		return nil, err
	}
	if p.Rank, err = r.number(rank, 0); err != nil {
		return nil, err
	}
	if p.Rank >= p.Size {
		return nil, fmt.Errorf("for variable %s: got %d, want a number below %s, which is %d", rank, p.Rank, size, p.Size)
	}
	return p, nil
}

// torchrun reads what torchrun sets, and what is often set by hand like it
// ("Environment Variables" in the documentation of torch.distributed.run).
func torchrun(r reader) (*Place, error) {
	for _, name := range []string{"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} {
		if !r.has(name) {
			return nil, nil
		}
	}
	p, err := r.place("torchrun", "RANK", "WORLD_SIZE")
	if err != nil {
		return nil, err
	}
	port, err := r.port("MASTER_PORT")
	if err != nil {
		return nil, err
	}
	if r.text("TORCHELASTIC_USE_AGENT_STORE") == "True" {
		port++ // the agent itself listens on the one it names
	}
	p.Rendezvous = net.JoinHostPort(r.text("MASTER_ADDR"), strconv.Itoa(port))
	return p, nil
}

// port returns the port that a variable holds, below the highest.
func (r reader) port(name string) (int, error) {
	port, err := r.number(name, 1)
	if err == nil && port >= 1<<16-1 {
		err = fmt.Errorf("for variable %s: got %d, want a port below 65535", name, port)
	}
	return port, err
}

// Ports that steps of Slurm jobs listen on. They are below those that Linux
// hands out by itself, which begin at 32768.
const (
	firstPort = 20000
	ports     = 10000
)

// slurm reads what srun sets for the tasks of a step ("OUTPUT ENVIRONMENT
// VARIABLES" in srun(1)). Task 0 is on the first node of the step.
func slurm(r reader) (*Place, error) {
	size := "SLURM_STEP_NUM_TASKS"
	if !r.has(size) {
		size = "SLURM_NTASKS"
	}
	if !r.has("SLURM_PROCID") || !r.has(size) || !r.has("SLURM_STEP_NODELIST") {
		return nil, nil
	}
	p, err := r.place("Slurm", "SLURM_PROCID", size)
	if err != nil {
		return nil, err
	}
	nodes, err := NodeList(r.text("SLURM_STEP_NODELIST"))
	if err != nil {
		return nil, fmt.Errorf("for variable SLURM_STEP_NODELIST: %w", err)
	}
	host, port := nodes[0], firstPort
	for i, name := range []string{"SLURM_JOB_ID", "SLURM_STEP_ID"} {
		if r.has(name) {
			id, err := r.number(name, 0)
			if err != nil {
				return nil, err
			}
			port += id << (3 * i) // steps of one job, and neighbouring jobs, differ
		}
	}
	port = firstPort + (port-firstPort)%ports
	if r.has("MASTER_ADDR") {
		host = r.text("MASTER_ADDR")
	}
	if r.has("MASTER_PORT") {
		if port, err = r.port("MASTER_PORT"); err != nil {
			return nil, err
		}
	}
	p.Rendezvous = net.JoinHostPort(host, strconv.Itoa(port))
	return p, nil
}

// maxNodes bounds the length of a NodeList.
const maxNodes = 1 << 16

// NodeList returns the names that a Slurm host list stands for, of which there
// is at least one: "n[01-03,7],gpu" is n01, n02, n03, n7 and gpu ("hostlist
// expressions" in scontrol(1)).
func NodeList(list string) ([]string, error) {
	var names []string
	for _, part := range splitList(list) {
		expanded, err := expand(part)
		if err != nil {
			return nil, fmt.Errorf("got %q, want a list of hosts, as n[01-03,7],gpu (%w)", list, err)
		}
		if names = append(names, expanded...); len(names) > maxNodes {
			return nil, fmt.Errorf("got a list of more than %d hosts", maxNodes)
		}
	}
	return names, nil
}

// splitList splits at the commas that are in no brackets.
func splitList(list string) []string {
	var parts []string
	depth, start := 0, 0
	for i, c := range list {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, list[start:i])
			start = i + 1
		}
	}
	return append(parts, list[start:])
}

// expand returns the names that one part of a list stands for: those of its
// first bracket, each before all that the rest stands for.
func expand(part string) ([]string, error) {
	head, rest, ok := strings.Cut(part, "[")
	if !ok {
		if part == "" || strings.Contains(part, "]") {
			return nil, fmt.Errorf("%q is no name", part)
		}
		return []string{part}, nil
	}
	inside, rest, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, fmt.Errorf("%q lacks a ]", part)
	}
	tails := []string{""}
	if rest != "" {
		var err error
		if tails, err = expand(rest); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, item := range strings.Split(inside, ",") {
		numbers, err := span(item)
		if err != nil {
			return nil, err
		}
		if len(names)+len(numbers)*len(tails) > maxNodes {
			return nil, fmt.Errorf("%q stands for more than %d hosts", part, maxNodes)
		}
		for _, n := range numbers {
			for _, tail := range tails {
				names = append(names, head+n+tail)
			}
		}
	}
	return names, nil
}

// span returns the numbers of "7" or "01-12", each as wide as the first.
func span(item string) ([]string, error) {
	first, last, ok := strings.Cut(item, "-")
	if !ok {
		last = first
	}
	lo, err := strconv.ParseUint(first, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%q is no number", first)
	}
	hi, err := strconv.ParseUint(last, 10, 32)
	if err != nil || hi < lo || hi-lo >= maxNodes {
		return nil, fmt.Errorf("%q is no range of numbers", item)
	}
	var numbers []string
	for n := lo; n <= hi; n++ {
		numbers = append(numbers, fmt.Sprintf("%0*d", len(first), n))
	}
	return numbers, nil
}
