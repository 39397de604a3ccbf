package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tpsh/cmd/tpsh/launch/launchtest"
	"tpsh/comm"
	"tpsh/comm/process/shm"
	"tpsh/internal/allowance"
	"tpsh/lang"
)

func TestMain(m *testing.M) {
	if IsWorker() {
		os.Exit(work())
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // for the race detector's second at the end of each worker
	goleak.VerifyTestMain(m)
}

// work is a worker that meets the others once, says so, and then does what it
// is told.
func work() int {
	seat, err := TakeSeat()
	if err != nil {
		return 1
	}
	if text := string(seat.Config); text == "refuse" && seat.Rank == 1 {
		seat.Ready(errors.New("no, thank you"))
		seat.Conn.Close()
		return 1
	} else if text == "die" && seat.Rank == 1 {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	defer seat.Close()
	for more := true; more; more = seat.Next() {
		seat.Ready(nil)
		if code := obey(seat); code != 0 {
			return code
		}
	}
	return 0
}

// obey meets the other ranks, says so, and does what it is told until that is
// "done", or it hears no more.
func obey(seat *Seat) (code int) {
	end := seat.Links.Fabric(seat.Generation).Endpoint(seat.Rank)
	all := make([]int, seat.Size)
	for i := range all {
		all[i] = i
	}
	world, err := end.Group(all, "")
	if err == nil {
		_, err = world.Run(context.Background(), &comm.Op{Desc: comm.Desc{Op: "barrier", Free: -1, Root: -1, Dims: [2]int{-1, -1}}, Kind: comm.Barrier, Align: 1})
	}
	seat.Conn.Send(fmt.Appendf(nil, "rank %d of %d, %d here, %s: %v", seat.Rank, seat.Size, seat.Local, seat.Config, err))
	for {
		order, err := seat.Conn.Recv(context.Background())
		switch {
		case err != nil || string(order) == "done":
			end.End(nil)
			return 0
		case string(order) == "done, late":
			end.End(nil)
			time.Sleep(patience + patience/2)
			return 0
		case string(order) == "exit":
			fmt.Fprintln(os.Stderr, "a last word")
			return 5
		case string(order) == "kill":
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case string(order) == "stop":
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
	}
}

// gather gathers one node, and ends it with the test.
func gather(t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Gather(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(0) })
	return c
}

// startJob starts a job, and ends it with the test.
func startJob(t *testing.T, c *Cluster, config string) *Job {
	t.Helper()
	j, err := c.Start(t.Context(), Spec{Config: []byte(config)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Stop)
	return j
}

// receive returns the next message of a rank.
func receive(t *testing.T, c lang.Conn) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	msg, err := c.Recv(ctx)
	return string(msg), err
}

// greetings checks what the ranks of a job say first.
func greetings(t *testing.T, j *Job, local func(rank int) int, config string) {
	t.Helper()
	for r, c := range j.Conns() {
		want := fmt.Sprintf("rank %d of %d, %d here, %s: <nil>", r, len(j.Conns()), local(r), config)
		if got, err := receive(t, c); got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

// Ranks are started, connected, given their configuration, and ended, one job
// after the other.
func TestStart(t *testing.T) {
	for _, transport := range Transports {
		t.Run(transport, func(t *testing.T) {
			c := gather(t, Options{Transport: transport, Ranks: 3})
			for _, config := range []string{"first", "second"} {
				j, err := c.Start(t.Context(), Spec{Config: []byte(config)})
				if err != nil {
					t.Fatal(err)
				}
				greetings(t, j, func(int) int { return 3 }, config)
				j.Stop()
			}
		})
	}
}

// Ranks can begin again, with another configuration.
func TestAgain(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			j := startJob(t, gather(t, Options{Transport: transport, Ranks: 3}), "0")
			for i := range 10 {
				greetings(t, j, func(int) int { return 3 }, fmt.Sprint(i))
				for _, c := range j.Conns() {
					c.Send([]byte("done"))
				}
				if left := j.Unreceived(); len(left) > 0 {
					t.Errorf("got %v, want no messages", left)
				}
				if err := j.Again(t.Context(), fmt.Append(nil, i+1)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Ranks that do not come to an end cannot.
func TestAgainFails(t *testing.T) {
	j := startJob(t, gather(t, Options{Transport: "shm", Ranks: 2}), "")
	if err := j.Again(t.Context(), nil); err != errBusy {
		t.Errorf("got %v, want %v", err, errBusy)
	}
	j.Conns()[1].Send([]byte("kill"))
	if err := j.Again(t.Context(), nil); err == nil {
		t.Error("a job with a dead rank begins again")
	}
}

// How a worker ends is what its connection ends in, and what it wrote is told.
func TestDeath(t *testing.T) {
	tests := []struct{ order, want string }{
		{"kill", "the rank died: it was killed by signal 9 (killed)"},
		{"stop", "the rank died: it was stopped"},
		{"exit", "the rank died: it exited with status 5"},
	}
	for _, test := range tests {
		t.Run(test.order, func(t *testing.T) {
			var mu sync.Mutex
			var notes []string
			c := gather(t, Options{Transport: "shm", Ranks: 2, Note: func(line string) {
				mu.Lock()
				defer mu.Unlock()
				notes = append(notes, line)
			}})
			j := startJob(t, c, "")
			greetings(t, j, func(int) int { return 2 }, "")
			conn := j.Conns()[1]
			conn.Send([]byte(test.order))
			_, err := receive(t, conn)
			var death *lang.DeathError
			if !errors.As(err, &death) || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			j.Stop()
			wrote := strings.Join(notes, "\n") == "rank 1 wrote before it ended:\na last word"
			if wrote != (test.order == "exit") {
				t.Errorf("got notes %q", notes)
			}
		})
	}
}

// Of many workers that share a core each has one thread for its goroutines, if the user does not say otherwise.
func TestEnvironment(t *testing.T) {
	crowd := shm.Crowd * allowance.Processors()
	for _, c := range []struct {
		set     string
		workers int
		want    string
	}{{"", crowd - 1, ""}, {"", crowd, "GOMAXPROCS=1"}, {"3", crowd, "GOMAXPROCS=3"}} {
		t.Setenv("GOMAXPROCS", c.set)
		if c.set == "" {
			os.Unsetenv("GOMAXPROCS")
		}
		var got []string
		for _, v := range environment(c.workers) {
			if strings.HasPrefix(v, "GOMAXPROCS=") {
				got = append(got, v)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%d workers, GOMAXPROCS %q: got %q, want %q", c.workers, c.set, got, c.want)
		}
	}
}

// What goes wrong with one rank at the start is the error of Start.
func TestStartFails(t *testing.T) {
	for config, want := range map[string]string{
		"refuse": "rank 1: no, thank you",
		"die":    "rank 1: the rank died: it was killed by signal 9 (killed)",
	} {
		for _, transport := range Transports {
			t.Run(config+"/"+transport, func(t *testing.T) {
				c := gather(t, Options{Transport: transport, Ranks: 3})
				if _, err := c.Start(t.Context(), Spec{Config: []byte(config)}); err == nil || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
			})
		}
	}
}

func TestOptions(t *testing.T) {
	tests := []struct {
		o    Options
		want string
	}{
		{Options{Transport: "pigeon", Ranks: 1}, `got transport "pigeon", want one of shm, tcp, auto`},
		{Options{Transport: "shm"}, "got 0 ranks, want at least 1"},
		{Options{Transport: "shm", Ranks: 1, Nodes: 2}, `got transport "shm" on 2 nodes, want tcp or auto`},
		{Options{Transport: "tcp", Ranks: 1, Nodes: 2, Node: 2}, "got node 2, want 0..1"},
	}
	for _, test := range tests {
		if _, err := Gather(t.Context(), test.o); err == nil || err.Error() != test.want {
			t.Errorf("%+v: got %v, want %s", test.o, err, test.want)
		}
	}
}

// Four launchers, here in one process, run two jobs with ranks of all of them:
// on one machine, on two, and each on its own.
func TestNodes(t *testing.T) {
	tests := []struct {
		name     string
		machines []string // of the nodes
		local    []int    // how many ranks are on the machine of each rank
	}{
		{"one machine", []string{"a", "a", "a", "a"}, []int{8, 8, 8, 8, 8, 8, 8, 8}},
		{"two machines", []string{"a", "b", "a", "b"}, []int{3, 5, 5, 3, 3, 5, 5, 5}},
		{"four machines", []string{"a", "b", "c", "d"}, []int{1, 2, 2, 2, 2, 3, 3, 3}},
	}
	for _, test := range tests {
		for _, secure := range []bool{false, true} {
			for _, transport := range []string{"tcp", "auto"} {
				t.Run(fmt.Sprintf("%s/%s/secure=%v", test.name, transport, secure), func(t *testing.T) {
					testNodes(t, transport, secure, test.machines, test.local)
				})
			}
		}
	}
}

func testNodes(t *testing.T, transport string, secure bool, machines []string, local []int) {
	ranks := []int{1, 2, 2, 3}
	o := Options{Transport: transport, Ranks: ranks[0], Nodes: len(ranks), Rendezvous: launchtest.FreeAddress(t), PeerTimeout: time.Minute, TLS: secure, machine: machines[0]}
	if secure {
		o.Token = []byte("a secret")
	}
	var followers sync.WaitGroup
	defer followers.Wait()
	for n := 1; n < o.Nodes; n++ {
		followers.Go(func() {
			mine := o
			mine.Node, mine.Ranks, mine.machine = n, ranks[n], machines[n]
			if status, err := Follow(t.Context(), mine); status != 7 || err != nil {
				t.Errorf("node %d: got status %d, %v, want 7", n, status, err)
			}
		})
	}
	c, err := Gather(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(7)
	for _, config := range []string{"first", "second"} {
		j, err := c.Start(t.Context(), Spec{Config: []byte(config)})
		if err != nil {
			t.Fatal(err)
		}
		greetings(t, j, func(rank int) int { return local[rank] }, config)
		conn := j.Conns()[4]
		conn.Send([]byte("kill"))
		if _, err := receive(t, conn); err == nil || err.Error() != "the rank died: it was killed by signal 9 (killed) on "+hostName() {
			t.Errorf("got %v, want the death of the rank", err)
		}
		j.Stop()
	}
}

// What ranks send each other goes through memory inside a machine, and through
// connections between machines, or if it is asked for everywhere.
func TestTraffic(t *testing.T) {
	tests := []struct {
		transport       string
		machines        []string
		memory, streams bool // whether anything goes that way
	}{
		{"auto", []string{"a", "a"}, true, false},
		{"auto", []string{"a", "b"}, true, true},
		{"tcp", []string{"a", "a"}, false, true},
		{"tcp", []string{"a", "b"}, false, true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.transport, test.machines), func(t *testing.T) {
			o := Options{Transport: test.transport, Ranks: 2, Nodes: 2, Rendezvous: launchtest.FreeAddress(t), machine: test.machines[0]}
			var follower sync.WaitGroup
			defer follower.Wait()
			follower.Go(func() {
				mine := o
				mine.Node, mine.machine = 1, test.machines[1]
				Follow(t.Context(), mine)
			})
			c, err := Gather(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(0)
			j, err := c.Start(t.Context(), Spec{})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Stop()
			for _, conn := range j.Conns() {
				receive(t, conn)
				conn.Send([]byte("done"))
			}
			sent, err := j.Traffic(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for rank, got := range sent {
				if got.Memory > 0 != test.memory || got.Streams > 0 != test.streams {
					t.Errorf("rank %d: got %+v, want memory %v, streams %v", rank, got, test.memory, test.streams)
				}
				if across := test.machines[0] != test.machines[1]; across != j.OnHosts() || across != (got.Across > 0) || got.Across > got.Streams {
					t.Errorf("rank %d: got %+v on several hosts: %v, want bytes to another host: %v", rank, got, j.OnHosts(), across)
				}
			}
		})
	}
}

// Ranks that have done their work may take longer to say what they have sent than those
// that are told to end.
func TestTrafficComesLate(t *testing.T) {
	j := startJob(t, gather(t, Options{Transport: "shm", Ranks: 2}), "")
	for rank, order := range []string{"done", "done, late"} {
		receive(t, j.Conns()[rank])
		j.Conns()[rank].Send([]byte(order))
	}
	if _, err := j.Traffic(t.Context()); err != nil {
		t.Error(err)
	}
}

// A start that fails while the workers of other nodes are still connecting
// keeps nobody waiting, and the next one succeeds.
func TestNodesStartAgain(t *testing.T) {
	o := Options{Transport: "tcp", Ranks: 1, Nodes: 2, Rendezvous: launchtest.FreeAddress(t)}
	var follower sync.WaitGroup
	defer follower.Wait()
	follower.Go(func() {
		mine := o
		mine.Node, mine.Ranks = 1, 3
		if status, err := Follow(t.Context(), mine); status != 7 || err != nil {
			t.Errorf("node 1: got status %d, %v, want 7", status, err)
		}
	})
	c, err := Gather(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(7)
	for i := range 4 {
		since, why := time.Now(), errors.New("never mind")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(i)*time.Millisecond, why)
		if _, err := c.Start(ctx, Spec{}); !errors.Is(err, why) {
			t.Errorf("got %v, want %v", err, why)
		}
		cancel()
		if took := time.Since(since); took > time.Minute {
			t.Errorf("took %v, want it to end soon", took)
		}
	}
	greetings(t, startJob(t, c, "go"), func(int) int { return 4 }, "go")
}

// A node that comes to start its workers when the job has ended goes on to the next.
func TestNodesStartLate(t *testing.T) {
	o := Options{Transport: "auto", Ranks: 1, Nodes: 2, Rendezvous: launchtest.FreeAddress(t)}
	first, err := o.credentials().Listen(o.Rendezvous)
	if err != nil {
		t.Fatal(err)
	}
	var follower sync.WaitGroup
	defer follower.Wait()
	follower.Go(func() {
		mine := o
		mine.Node = 1
		if status, err := Follow(t.Context(), mine); status != 7 || err != nil {
			t.Errorf("node 1: got status %d, %v, want 7", status, err)
		}
	})
	stream, _, err := first.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := newControl(stream, controlEnd{name: "node 1", timeout: time.Minute})
	defer conn.Close()
	next := func() (note nodeNote) {
		t.Helper()
		for note == (nodeNote{}) { // as a heartbeat is
			if err := recvJSON(t.Context(), conn, &note); err != nil {
				t.Fatal(err)
			}
		}
		return note
	}
	next()
	missing := func(b begin, why string) {
		t.Helper()
		b.Ranks = []int{1}
		sendJSON(conn, order{Start: &b})
		if note := next(); note.Lost == nil || note.Lost.Rank != 1 || !strings.Contains(note.Lost.Cause, why) {
			t.Errorf("got %+v, want the loss of rank 1 (%s)", note, why)
		}
		sendJSON(conn, order{Stop: true})
		for note := next(); !note.Stopped; note = next() { // the worker has gone
			if note.Lost == nil {
				t.Errorf("got %+v, want it to stop", note)
			}
		}
	}
	missing(begin{Memory: fmt.Sprintf("/proc/%d/fd/999", os.Getpid())}, "no such file")
	first.Close()
	missing(begin{}, "connection refused")
	status := 7
	sendJSON(conn, order{Finish: &status})
	conn.awaitEnd(time.Minute)
}

// When a node is lost, its ranks die with it, and there is no other job.
func TestNodeLost(t *testing.T) {
	o := Options{Transport: "auto", Ranks: 1, Nodes: 2, Rendezvous: launchtest.FreeAddress(t)}
	ctx, leave := context.WithCancelCause(t.Context())
	var follower sync.WaitGroup
	defer follower.Wait()
	follower.Go(func() {
		mine := o
		mine.Node = 1
		Follow(ctx, mine)
	})
	c, err := Gather(t.Context(), o)
	if err != nil {
		leave(err)
		t.Fatal(err)
	}
	defer c.Close(0)
	j := startJob(t, c, "go")
	greetings(t, j, func(int) int { return 2 }, "go")
	leave(errors.New("it is time"))
	if _, err := receive(t, j.Conns()[1]); !errors.As(err, new(*lang.DeathError)) || !strings.Contains(err.Error(), "it is time") {
		t.Errorf("got %v, want the death of the rank", err)
	}
	follower.Wait()
	j.Stop()
	want := "node 1 on " + hostName() + " is lost (EOF)"
	if _, err := c.Start(t.Context(), Spec{}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A launcher that ends while others are waited for may come again; one that
// comes twice is refused.
func TestNodeComesAgain(t *testing.T) {
	o := Options{Transport: "tcp", Ranks: 1, Nodes: 3, Rendezvous: launchtest.FreeAddress(t)}
	follow := func(ctx context.Context, node int) error {
		mine := o
		mine.Node = node
		_, err := Follow(ctx, mine)
		return err
	}
	var followers sync.WaitGroup
	defer followers.Wait()
	first, leave := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("it is time"))
	defer leave()
	followers.Go(func() {
		if err := follow(first, 1); err == nil || !strings.Contains(err.Error(), "it is time") {
			t.Errorf("node 1: got %v, want it to leave", err)
		}
		followers.Go(func() { follow(t.Context(), 1) })
		time.Sleep(100 * time.Millisecond)
		followers.Go(func() { follow(t.Context(), 2) })
	})
	c, err := Gather(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(0)
	greetings(t, startJob(t, c, "go"), func(int) int { return 3 }, "go")
}

// Launchers that do not agree about the job are refused, and told why.
func TestNodesDisagree(t *testing.T) {
	tests := []struct {
		name          string
		change        func(o *Options) // of node 1
		first, second string           // what the nodes say
	}{
		{"nodes", func(o *Options) { o.Nodes = 3 }, "node 1 says there are 3 nodes, want 2", "refuses this one: node 1 says there are 3 nodes, want 2"},
		{"version", func(o *Options) { o.Version = "v2" }, "it is tpsh v2, and node 0 is tpsh v1 (want the same)", "refuses this one: it is tpsh v2, and node 0 is tpsh v1"},
		{"number", func(o *Options) { o.Node = 0 }, "got node 0, want 1..1", "refuses this one: got node 0, want 1..1"},
		{"ranks", func(o *Options) { o.Ranks = maxRanks + 1 }, "got a node of 16385 ranks, want 1..16384", "refuses this one: got a node of 16385 ranks"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := Options{Transport: "tcp", Ranks: 1, Nodes: 2, Rendezvous: launchtest.FreeAddress(t), Version: "v1"}
			var follower sync.WaitGroup
			follower.Go(func() {
				mine := o
				mine.Node = 1
				test.change(&mine)
				if _, err := Follow(t.Context(), mine); err == nil || !strings.Contains(err.Error(), test.second) {
					t.Errorf("node 1: got %v, want %s", err, test.second)
				}
			})
			if _, err := Gather(t.Context(), o); err == nil || !strings.Contains(err.Error(), test.first) {
				t.Errorf("node 0: got %v, want %s", err, test.first)
			}
			follower.Wait()
		})
	}
}

// A launcher without the token is turned away, and the others go on waiting.
func TestWrongToken(t *testing.T) {
	limited, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	ctx, cancel := context.WithCancelCause(limited)
	var turned string
	o := Options{Transport: "tcp", Ranks: 1, Nodes: 2, Rendezvous: launchtest.FreeAddress(t), Token: []byte("right"), Note: func(line string) {
		turned = line
		cancel(errors.New("nobody else comes"))
	}}
	var follower sync.WaitGroup
	follower.Go(func() {
		mine := o
		mine.Node, mine.Token = 1, []byte("wrong")
		if _, err := Follow(t.Context(), mine); err == nil || !strings.Contains(err.Error(), "token") {
			t.Errorf("node 1: got %v, want an error about the token", err)
		}
	})
	if _, err := Gather(ctx, o); err == nil || !strings.Contains(err.Error(), "these have not come: [1]") {
		t.Errorf("node 0: got %v, want it to miss node 1", err)
	}
	follower.Wait()
	if line := turned; !strings.HasPrefix(line, "turned away 127.0.0.1:") || strings.Count(line, "127.0.0.1") != 1 || !strings.Contains(line, ": it was closed during the handshake (where a proof") && !strings.Contains(line, ": the other end does not know the job's token") {
		t.Errorf("got note %q", line)
	}
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := Options{Transport: "tcp", Ranks: 1, Nodes: 2, Rendezvous: l.Addr().String()}
	if _, err := Gather(t.Context(), o); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v, want %v", err, syscall.EADDRINUSE)
	}
}

// Nodes that do not come are not waited for without end, on either side.
func TestNobodyComes(t *testing.T) {
	o := Options{Transport: "tcp", Ranks: 1, Nodes: 2, Rendezvous: launchtest.FreeAddress(t), GatherTimeout: 200 * time.Millisecond}
	want := "the nodes did not come together within 200ms"
	if _, err := Gather(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("node 0: got %v, want %s", err, want)
	}
	o.Node = 1
	if _, err := Follow(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("node 1: got %v, want %s", err, want)
	}
	o.Rendezvous, o.Token = "nowhere.invalid:29500", []byte("x")
	if _, err := Follow(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nowhere.invalid") {
		t.Errorf("node 1: got %v, want %s and the name", err, want)
	}
}

// A launcher whose first has gone ends its workers and says so.
func TestFirstGoes(t *testing.T) {
	o := Options{Transport: "tcp", Ranks: 2, Nodes: 2, Rendezvous: launchtest.FreeAddress(t)}
	l, err := o.credentials().Listen(o.Rendezvous)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var follower sync.WaitGroup
	follower.Go(func() {
		mine := o
		mine.Node = 1
		if _, err := Follow(t.Context(), mine); !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want %v", err, io.EOF)
		}
	})
	stream, _, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := lang.Stream(stream, nil)
	sendJSON(conn, order{Start: &begin{Ranks: []int{1, 2}}})
	for range 2 { // the control connections of its workers
		control, _, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer control.Close()
	}
	conn.Close()
	follower.Wait()
}

// Whatever is no message between launchers and workers is refused.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"rank":1,"size":2,"local":[[0,1]],"meet":{"address":"a:1"}}`))
	f.Add([]byte(`{"start":{"ranks":[1]}}{}`))
	f.Add([]byte(`{"lost":{"rank":1,"cause":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		decodeJSON(data, new(role))
		decodeJSON(data, new(order))
		decodeJSON(data, new(nodeNote))
		decodeJSON(data, new(ready))
	})
}
