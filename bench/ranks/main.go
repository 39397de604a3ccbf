// Ranks measures the transports of processes as the benchmarks of MPI and gloo
// measure theirs: ranks in processes of their own call a collective again and
// again, on the same memory, without a script.
//
//	go run ./bench/ranks -n 4 -transport shm all_reduce/8 all_gather/1048576
//
//	go build -tags native ./bench/ranks && mpirun -n 4 ./ranks -transport mpi all_reduce/8
//
// print for each case the seconds of a call on the slowest rank, in the fastest
// of some rounds. A size is the bytes that every rank puts in. Of ping_pong it is
// half of a round trip that is measured, of all pairs of ranks at the same time.
// bench/peers compares these figures with those of others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/comm/mpi"
	"tpsh/comm/process"
	"tpsh/comm/process/shm"
)

// A job is what one command measures.
type job struct {
	ranks     int
	transport string
	round     time.Duration
	cases     []string
	profile   string // a file for the CPU profile of rank 0, or ""
}

// The environment by which a process knows that it is a rank.
const (
	rankVariable    = "TPSH_BENCH_RANK"
	addressVariable = "TPSH_BENCH_ADDRESS" // of the rendezvous
)

func main() {
	j := &job{}
	flag.IntVar(&j.ranks, "n", 2, "start `N` ranks")
	flag.StringVar(&j.transport, "transport", "shm", "connect them by `NAME`: shm, tcp, or mpi under a launcher of MPI, which says how many there are")
	flag.DurationVar(&j.round, "round", 50*time.Millisecond, "call for `D` in each round")
	flag.StringVar(&j.profile, "cpuprofile", "", "write the CPU profile of rank 0 to `FILE`")
	flag.Parse()
	j.cases = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := j.do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ranks:", err)
		os.Exit(1)
	}
}

// do starts the ranks, or is one.
func (j *job) do(ctx context.Context) error {
	if err := j.check(); err != nil {
		return err
	}
	if j.transport == "mpi" {
		launch, _ := mpi.Launched(os.LookupEnv)
		return j.inWorld(ctx, launch)
	}
	if text := os.Getenv(rankVariable); text != "" {
		rank, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		return j.rank(ctx, rank)
	}
	return j.start(ctx)
}

// check checks the command line.
func (j *job) check() error {
	switch {
	case j.ranks < 2 || j.ranks > 64:
		return fmt.Errorf("for flag -n: got %d, want 2..64", j.ranks)
	case j.transport != "shm" && j.transport != "tcp" && j.transport != "mpi":
		return fmt.Errorf("for flag -transport: got %q, want shm, tcp or mpi", j.transport)
	}
	for _, text := range j.cases {
		if _, err := parseCase(text); err != nil {
			return err
		}
	}
	return nil
}

// start runs the ranks as processes, and returns when all have ended.
func (j *job) start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := (&bootstrap.Credentials{}).Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	var files []*os.File
	if j.transport == "shm" {
		segment, err := shm.CreateSegment(j.ranks)
		if err != nil {
			return err
		}
		defer segment.Close()
		files = append(files, segment.File())
	}
	commands, err := j.launch(ctx, l.Addr().String(), files)
	ended := make(chan error, 1)
	go func() { ended <- waitAll(commands, cancel) }()
	if err == nil {
		err = watch(ctx, l, j.ranks, ended)
	}
	cancel()
	return errors.Join(err, <-ended)
}

// launch starts the ranks, which end with ctx.
func (j *job) launch(ctx context.Context, address string, files []*os.File) ([]*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var commands []*exec.Cmd
	for r := range j.ranks {
		cmd := exec.CommandContext(ctx, self, os.Args[1:]...)
		cmd.Env = append(os.Environ(), rankVariable+"="+strconv.Itoa(r), addressVariable+"="+address)
		cmd.ExtraFiles = files
		cmd.Stderr = os.Stderr
		if r == 0 {
			cmd.Stdout = os.Stdout
		}
		if err := cmd.Start(); err != nil {
			return commands, err
		}
		commands = append(commands, cmd)
	}
	return commands, nil
}

// waitAll waits for the ranks; the first that fails ends the others.
func waitAll(commands []*exec.Cmd, cancel func()) error {
	results := make(chan error)
	for r, cmd := range commands {
		go func() {
			err := cmd.Wait()
			if err != nil {
				err = fmt.Errorf("rank %d: %w", r, err)
				cancel()
			}
			results <- err
		}()
	}
	var first error
	for range commands {
		if err := <-results; first == nil {
			first = err
		}
	}
	return first
}

// watch is the supervisor of the ranks until they have ended.
func watch(ctx context.Context, l *bootstrap.Listener, ranks int, ended chan error) error {
	conns, err := bootstrap.Rendezvous(ctx, l, ranks, nil)
	if err != nil {
		return err
	}
	var streams []io.ReadWriteCloser
	for _, c := range conns {
		streams = append(streams, c)
	}
	s := process.Supervise(process.SuperviseOptions{Streams: streams, Heartbeat: true})
	err = <-ended
	ended <- nil
	return errors.Join(err, s.Close())
}

// connect connects a rank with the others.
func (j *job) connect(ctx context.Context, rank int) (*process.Links, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	m, err := bootstrap.Meet(ctx, &bootstrap.Credentials{}, os.Getenv(addressVariable), rank, j.ranks)
	if err != nil {
		return nil, err
	}
	o := process.Through(m)
	if j.transport == "shm" {
		if o.Segment, err = shm.OpenSegment(os.NewFile(3, "memory")); err != nil {
			return nil, err
		}
		for r := range j.ranks {
			o.Local = append(o.Local, r)
		}
	}
	return process.Connect(o)
}
