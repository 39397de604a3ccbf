package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"tpsh/cmd/tpsh/launch"
	"tpsh/cmd/tpsh/launch/schedenv"
	"tpsh/comm/mpi"
	"tpsh/lang"
)

// viaMPI is the transport of ranks that a launcher of MPI has started, such as
// mpirun: each of their processes carries out the same command line.
const viaMPI = "mpi"

// nativeBuild is how to build what opens libraries of the system.
const nativeBuild = "CGO_ENABLED=0 go build -tags native ./cmd/tpsh"

// underMPI returns what the launcher of MPI says that has started this process,
// or nil if there is none. Slurm's srun is one only if it offers the processes
// a way to meet in MPI.
func underMPI(env schedenv.Env) *mpi.Launch {
	l, ok := mpi.Launched(env)
	if !ok {
		return nil
	}
	if l.Launcher == "Slurm" && !isSet(env, "PMI_RANK") && !isSet(env, "PMIX_RANK") {
		return nil
	}
	return l
}

func isSet(env schedenv.Env, name string) bool {
	_, ok := env(name)
	return ok
}

// chooseWorld returns the launch that a command joins as one rank of a world, or
// nil if it starts its ranks itself. It fails where that would be as many jobs
// as there are processes. placed says that the command line itself places the
// process among others.
func chooseWorld(transport string, given, placed bool, env schedenv.Env) (*mpi.Launch, error) {
	l := underMPI(env)
	open := !given || transport == launch.Automatic // to what suits
	switch {
	case given && transport == viaMPI && !mpi.Built:
		return nil, usagef("for flag --transport: got %q, which this tpsh cannot do, want one that was built with %s", viaMPI, nativeBuild)
	case given && transport == viaMPI:
		if l, ok := mpi.Launched(env); ok {
			return l, nil
		}
		return nil, usagef("for flag --transport: got %q, but no launcher of MPI has started this process, want mpirun -n 4 tpsh ...", viaMPI)
	case l == nil || placed || byTorchrun(env) || l.Launcher == "Slurm" && !(open && mpi.Built):
		return nil, nil
	case open && mpi.Built:
		return l, nil
	case l.Size == 1:
		return nil, nil
	case !mpi.Built:
		return nil, usagef("the launcher of %s has started %d copies of this command, which cannot join each other: start it once, or build a tpsh that joins them, with %s", l.Launcher, l.Size, nativeBuild)
	}
	return nil, usagef("for flag --transport: got %q, want %s, or start the command once (the launcher of %s has started %d copies)", transport, viaMPI, l.Launcher, l.Size)
}

// byTorchrun reports whether the environment places the process as torchrun
// does, which a user of mpirun may do on purpose.
func byTorchrun(env schedenv.Env) bool {
	place, err := schedenv.Find(env)
	return err == nil && place != nil && place.Size > 1 && place.From == "torchrun"
}

// alone returns a usage error if a launcher of MPI has started copies of a
// command that is for one process.
func alone(command string, env schedenv.Env) error {
	if l := underMPI(env); l != nil && l.Size > 1 {
		return usagef("%s: the launcher of %s has started %d copies, want one (only run and test are for its ranks)", command, l.Launcher, l.Size)
	}
	return nil
}

// speaks reports whether this process is the one of those that a launcher of MPI
// has started which tells of a mistake that all of them find.
func speaks(env schedenv.Env) bool {
	l := underMPI(env)
	return l == nil || l.Rank == 0
}

// firstHere reports whether this process is the first on its host of those that
// a launcher of MPI has started.
func firstHere(env schedenv.Env) bool {
	for _, name := range []string{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"} {
		if v, ok := env(name); ok {
			return v == "0"
		}
	}
	return true
}

// A world is what a launcher of MPI has started, as one of its processes sees
// it.
type world interface {
	launch.World
	Abort(status int) // ends all processes
	Close() error     // when all have called it
}

// mpiWorld is a world of package mpi.
type mpiWorld struct{ *mpi.World }

func (w mpiWorld) Stream(peer, channel int) io.ReadWriteCloser { return w.World.Stream(peer, channel) }

// inWorld joins the world of a launcher. hear returns the context of the job, which
// ends when that is to end at once. In the process of rank 0 it calls lead
// with the ranks, and returns its error; in the others it serves rank 0, and
// returns the exit status of that.
func inWorld(std *stdio, l *mpi.Launch, k *kernels, hear func() (context.Context, context.CancelFunc), lead func(context.Context, *launch.Cluster) error) error {
	library, err := mpi.Find(os.LookupEnv)
	if err != nil {
		return notJoined(err)
	}
	joined, err := mpi.Join(mpi.Options{Library: library, Launch: l})
	if err != nil {
		return notJoined(err)
	}
	w := mpiWorld{joined}
	share(len(w.Local()), 1) // a thread of MPI's
	if w.Rank() > 0 {
		// A launcher passes on to all what is meant for the job: rank 0 ends it.
		signal.Ignore(append(hangups(), stopRequests()...)...)
		return followWorld(w, k)
	}
	ctx, done := hear()
	defer func() {
		signal.Ignore(append(hangups(), stopRequests()...)...) // some ranks may be gone sooner
		done()
	}()
	return leadWorld(std, w, k, func(c *launch.Cluster) error { return lead(ctx, c) })
}

// notJoined returns the error of a process that cannot join its world, which one
// of each host tells.
func notJoined(err error) error {
	if !firstHere(os.LookupEnv) {
		return status(lang.StatusJob)
	}
	return jobError{err}
}

// leadWorld is the whole of the process of rank 0 in a world.
func leadWorld(std *stdio, w world, k *kernels, lead func(*launch.Cluster) error) error {
	c, err := launch.GatherIn(w, launch.Options{Note: (&starter{notes: std.err}).note()})
	if err != nil {
		w.Abort(lang.StatusJob)
		return jobError{err}
	}
	seat, err := c.TakeSeat()
	if err != nil {
		w.Abort(lang.StatusJob)
		return jobError{err}
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		attend(seat, k)
	}()
	err = lead(c)
	code := exitStatus(err)
	if stuck := c.Close(code); stuck != nil {
		tell(std.err, err)
		fmt.Fprintf(std.err, "tpsh: %v; all processes are ended by force\n", stuck)
		w.Abort(cmp.Or(code, lang.StatusJob))
		return status(cmp.Or(code, lang.StatusJob))
	}
	<-served
	closed := w.Close()
	if errors.Is(closed, mpi.ErrUnfinished) {
		fmt.Fprintf(std.err, "tpsh: warning: %v\n", closed)
	} else if closed != nil && err == nil {
		return jobError{closed}
	}
	return err
}

// tell tells of an error that has not been told.
func tell(w io.Writer, err error) {
	if err != nil && !errors.As(err, new(status)) {
		fmt.Fprintf(w, "tpsh: %v\n", err)
	}
}

// followWorld is the whole of the process of another rank in a world.
func followWorld(w world, k *kernels) error {
	seat, err := launch.TakeSeatIn(w)
	if err != nil {
		w.Abort(lang.StatusJob)
		return jobError{err}
	}
	attend(seat, k)
	if seat.Status == nil { // rank 0 is lost, and with it the world
		w.Abort(lang.StatusJob)
		return status(lang.StatusJob)
	}
	if err := w.Close(); err != nil && !errors.Is(err, mpi.ErrUnfinished) { // of which rank 0 tells
		return jobError{err}
	}
	if *seat.Status != lang.StatusOK {
		return status(*seat.Status)
	}
	return nil
}

// attend serves front ends at a seat of a world, until there are no more.
func attend(seat *launch.Seat, k *kernels) {
	defer seat.Close()
	err := compute(seat, k)
	for more := seat.Next(); more; {
		if err == nil {
			more, err = serve(seat)
		}
		if err != nil {
			seat.Ready(err)
			more = seat.Next()
		}
	}
}

// compute makes this process compute as its command line says.
func compute(seat *launch.Seat, k *kernels) error {
	if err := k.check(); err != nil {
		return err
	}
	k.use()
	seat.Kernels = computing()
	return nil
}

// foreign are the flags about jobs that tpsh starts itself.
var foreign = []string{"nnodes", "node-rank", "nproc-per-node", "rdzv", "rdzv-timeout", "token-file", "tls", "tls-cert", "tls-key", "tls-ca", "peer-timeout", "max-restarts", "elastic", "elastic-wait"}

// checkForeign returns a usage error if flags were given that mean nothing in a
// world: its launcher has chosen the hosts, and decides what a death means.
func checkForeign(given func(name string) bool, l *mpi.Launch) error {
	for _, name := range foreign {
		if given(name) {
			return usagef("for flag %s: got it with transport %s, want it left out (hosts, connections and deaths are matters of the launcher of %s)", dashed(name), viaMPI, l.Launcher)
		}
	}
	return nil
}

// checkSize returns a usage error if another number of ranks is asked for than
// there is.
func checkSize(asked []int, l *mpi.Launch) error {
	if i := slices.IndexFunc(asked, func(n int) bool { return n != l.Size }); i >= 0 {
		return usagef("for flag -n: got %d, want %d (as many as the launcher of %s has started)", asked[i], l.Size, l.Launcher)
	}
	return nil
}
