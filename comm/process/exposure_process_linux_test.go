package process_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/process"
)

// lendRank has rank 0 send long messages and a short one to rank 1, which asks for
// them a moment later. args says who is killed before.
func lendRank(t *testing.T, w io.Writer, links *process.Links, args []string) {
	f := links.Fabric(0)
	e := f.Endpoint(f.Local()[0])
	g, err := e.Group([]int{0, 1}, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for range 2 { // in the first they find out whose memory can be read
		if _, err := g.Run(ctx, &comm.Op{Desc: comm.Desc{Op: "barrier", Free: -1, Root: -1, Dims: [2]int{-1, -1}}}); err != nil {
			t.Fatal(err)
		}
	}
	lengths := []int{4 << 20, 5, 1 << 20}
	if g.Rank() == 0 {
		for i, n := range lengths {
			if err := g.Send(1, i, comm.Message{Data: make([]byte, n)}, ""); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		time.Sleep(200 * time.Millisecond)
	}
	if args[0] == fmt.Sprint(g.Rank()) {
		syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	}
	if g.Rank() == 0 && args[0] == "1" {
		_, err := g.Recv(ctx, 1, 0, nil)
		fmt.Fprintln(w, "got", err)
	}
	for i, n := range lengths {
		if g.Rank() == 1 {
			m, err := g.Recv(ctx, 0, i, nil)
			fmt.Fprintln(w, "got", err, len(m.Data) == n)
		}
	}
	e.End(nil)
	f.Unreceived()
	fmt.Fprintln(w, "done")
}

// Messages that are exposed are received though the sender has ended since; not when
// it has died, while what did not need its memory is. The death of a receiver is
// that of a peer.
func TestProcessLends(t *testing.T) {
	const killed = "rank %d failed: ended with signal: killed"
	for _, test := range []struct {
		victim, teller int
		want           []string
	}{
		{-1, 1, []string{"got <nil> true", "got <nil> true", "got <nil> true", "done"}},
		{0, 1, []string{fmt.Sprintf(killed, 0), "got <nil> true", fmt.Sprintf(killed, 0), "done"}},
		{1, 0, []string{fmt.Sprintf(killed, 1), "done"}},
	} {
		t.Run(fmt.Sprint(test.victim), func(t *testing.T) {
			c := start(t, "shm", 2, "lend", fmt.Sprint(test.victim))
			got := strings.Split(c.wait(t)[test.teller], "\n")
			for i, want := range test.want {
				if i >= len(got) || !strings.Contains(got[i], want) {
					t.Fatalf("got %q, want %q", got, test.want)
				}
			}
		})
	}
}
