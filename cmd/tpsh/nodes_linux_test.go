package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"tpsh/cmd/tpsh/launch/launchtest"
)

// startNodes starts the command as node 0 of two, at an address, and as node 1,
// which looks for node 0 at another.
func startNodes(t *testing.T, at, from string, args ...string) (nodes [2]*process) {
	t.Helper()
	for node, address := range []string{at, from} {
		place := []string{args[0], "--nnodes", "2", "--node-rank", fmt.Sprint(node), "--rdzv", address, "--nproc-per-node", "2"}
		nodes[node] = startProcess(t, append(place, args[1:]...)...)
	}
	return nodes
}

// wants checks what a process has written on standard error.
func (p *process) wants(t *testing.T, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(p.errs.String(), want) {
			t.Errorf("got:\n%s\nwant it to contain %q", &p.errs, want)
		}
	}
}

// A launcher that is stopped, though its workers go on, is reported as silent
// and then given up: all nodes end, itself included, and nothing is left.
func TestLauncherStopped(t *testing.T) {
	script := writeScript(t, "print('go')\nbarrier()\nfor i in range(1 << 40):\n    faults.delay(0, at='all_reduce#%d' % (i + 1), ms=500)\n    all_reduce(ones(1000))\n")
	for stopped := range 2 {
		for _, transport := range []string{"tcp", "auto"} {
			t.Run(fmt.Sprintf("node %d/%s", stopped, transport), func(t *testing.T) {
				t.Parallel()
				at := launchtest.FreeAddress(t)
				nodes := startNodes(t, at, at, "run", "--transport", transport, "--peer-timeout", "3s", script)
				nodes[0].line(t)
				workers := append(children(nodes[0].Process.Pid), children(nodes[1].Process.Pid)...)
				if len(workers) != 4 {
					t.Fatalf("got workers %v, want 4", workers)
				}
				nodes[stopped].Process.Signal(syscall.SIGSTOP)
				nodes[0].end(t, 3, workers)
				nodes[1].end(t, 3, workers)
				other := nodes[1-stopped]
				other.wants(t, fmt.Sprintf("node %d at 127.0.0.1:", stopped), "has not been heard of for ", "nothing was heard of it for 3s")
				if stopped == 1 {
					other.wants(t, "ranks 2,3 of 4:\nError: the rank died: it was lost with its host (nothing was heard of it for 3s) on ", "ranks 0,1: stopped in all_reduce at "+script+":5:")
				}
			})
		}
	}
}

// A launcher that is stopped for less than that goes on, and nothing has
// happened.
func TestLauncherPaused(t *testing.T) {
	script := writeScript(t, "faults.delay(0, at='barrier#2', ms=2500)\nbarrier()\nprint('go')\nbarrier()\nprint('done')\n")
	at := launchtest.FreeAddress(t)
	nodes := startNodes(t, at, at, "run", script)
	nodes[0].line(t)
	nodes[1].Process.Signal(syscall.SIGSTOP)
	for begun := time.Now(); !strings.Contains(nodes[0].errs.String(), "has not been heard of for ") && time.Since(begun) < 5*time.Minute; {
		time.Sleep(10 * time.Millisecond)
	}
	nodes[1].Process.Signal(syscall.SIGCONT)
	if out, _ := io.ReadAll(nodes[0].out); string(out) != "done\n" {
		t.Errorf("got %q, want done\n%s", out, &nodes[0].errs)
	}
	nodes[0].end(t, 0, nil)
	nodes[1].end(t, 0, nil)
	nodes[0].wants(t, "has not been heard of for ")
}

// Tests run on the ranks of all nodes, each on ranks that are as new, also after
// one in which a rank has died.
func TestNodesTest(t *testing.T) {
	dir := t.TempDir()
	source := `
def test_sum():
    assert.eq(all_reduce(ones(2)).tolist(), [4.0, 4.0])

def test_dies():
    faults.kill(3, at="barrier#1")
    barrier()

def test_goes_on():
    assert.eq(all_gather_object(rank()), [0, 1, 2, 3])
    assert.eq(world_size(), 4)
`
	for name, text := range map[string]string{"a_test.star": source, "b_test.star": "RANKS = [2]\ndef test_pair():\n    fail('not here')\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := launchtest.FreeAddress(t)
	nodes := startNodes(t, at, at, "test", dir)
	out, _ := io.ReadAll(nodes[0].out)
	for _, want := range []string{"--- FAIL: test_dies (n=4, auto)", "faults.kill: rank 3 was killed", "FAIL", "b_test.star"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got:\n%s\nwant it to contain %q", out, want)
		}
	}
	if n := strings.Count(string(out), "--- FAIL"); n != 1 {
		t.Errorf("got:\n%s\nwant one test to fail, got %d", out, n)
	}
	nodes[0].end(t, 1, nil)
	nodes[1].end(t, 1, nil)
}

// A shell has the ranks of all nodes, and starts them anew when one has died.
func TestNodesShell(t *testing.T) {
	at := launchtest.FreeAddress(t)
	one := startProcess(t, "repl", "--nnodes", "2", "--node-rank", "1", "--rdzv", at, "--nproc-per-node", "2")
	p := startShell(t, "--nnodes", "2", "--node-rank", "0", "--rdzv", at, "--nproc-per-node", "2")
	p.say(t, "all_reduce(ones(1)).item()", "4.0")
	p.say(t, "x = 1\n:ranks 4\nrank() * 0 + world_size()", "4 ranks, no variables", "4")
	workers := append(children(p.Process.Pid), children(one.Process.Pid)...)
	p.say(t, "faults.kill(2, at='barrier#1')\nbarrier()\n:ranks 4\nall_gather_object(rank())", "4 ranks, no variables", "[0, 1, 2, 3]")
	p.say(t, ":ranks 3\n1 // 0\n:quit")
	workers = append(workers, append(children(p.Process.Pid), children(one.Process.Pid)...)...)
	p.end(t, 1, workers)
	one.end(t, 1, workers)
	p.wants(t, "faults.kill: rank 2 was killed", "got 3, want 4 (the nodes of the shell were started for so many)")
}

// What ranks leave in temporary folders is removed on every host, here that of a
// launcher which node 0 cannot clean up for: it has gone already.
func TestNodesLeaveNothing(t *testing.T) {
	script := writeScript(t, "write_text(tmpdir() + '/a', 'a')\nwrite_text(resume_dir() + '/b%d' % rank(), 'b')\nprint(tmpdir())\nbarrier()\nwhile True:\n    barrier()\n")
	at := launchtest.FreeAddress(t)
	nodes := startNodes(t, at, at, "run", "--output", "rank0", script)
	dir := nodes[0].line(t)
	workers := append(children(nodes[0].Process.Pid), children(nodes[1].Process.Pid)...)
	nodes[0].Process.Kill()
	io.Copy(io.Discard, nodes[0].out)
	nodes[0].Wait()
	nodes[1].end(t, 3, workers)
	if left, _ := os.ReadDir(nodes[0].tmp); len(left) > 0 {
		t.Errorf("left behind: %v, where ranks wrote in %s", left, dir)
	}
}

// Who does not belong to a job is refused, and both sides say why.
func TestNodesRefuse(t *testing.T) {
	script := writeScript(t, "print('no')\n")
	for _, transport := range []string{"tcp", "auto"} {
		t.Run("token/"+transport, func(t *testing.T) {
			at := launchtest.FreeAddress(t)
			t.Setenv("TPSH_TOKEN", "theirs")
			one := startProcess(t, "run", "--transport", transport, "--nnodes", "2", "--node-rank", "1", "--rdzv", at, script)
			t.Setenv("TPSH_TOKEN", "ours")
			zero := startProcess(t, "run", "--transport", transport, "--nnodes", "2", "--node-rank", "0", "--rdzv", at, "--rdzv-timeout", "1s", script)
			one.end(t, 3, nil)
			zero.end(t, 3, nil)
			one.wants(t, "the tokens may differ")
			zero.wants(t, "turned away 127.0.0.1:", "the other end does not know the job's token", "these have not come: [1]")
		})
		t.Run("world/"+transport, func(t *testing.T) {
			at := launchtest.FreeAddress(t)
			one := startProcess(t, "run", "--transport", transport, "--nnodes", "3", "--node-rank", "1", "--rdzv", at, script)
			zero := startProcess(t, "run", "--transport", transport, "--nnodes", "2", "--node-rank", "0", "--rdzv", at, script)
			one.end(t, 3, nil)
			zero.end(t, 3, nil)
			one.wants(t, "refuses this one: node 1 says there are 3 nodes, want 2")
			zero.wants(t, "node 1 says there are 3 nodes, want 2")
		})
		t.Run("port/"+transport, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			zero := startProcess(t, "run", "--transport", transport, "--nnodes", "2", "--node-rank", "0", "--rdzv", l.Addr().String(), script)
			zero.end(t, 3, nil)
			zero.wants(t, "tpsh: listen tcp "+l.Addr().String()+": bind: address already in use\n")
		})
	}
}
