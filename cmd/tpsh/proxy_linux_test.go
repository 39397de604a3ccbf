package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"tpsh/cmd/tpsh/launch/launchtest"
)

// A proxy stands between node 1 and node 0: what the processes of node 1 say to
// the rendezvous goes through it.
type proxy struct {
	listener net.Listener
	to       string // the address of node 0
	alter    func(c *crossing, up bool, b []byte) ([]byte, bool)
	tasks    sync.WaitGroup
}

// A crossing is a connection through a proxy.
type crossing struct {
	mu      sync.Mutex
	begun   []byte // what went up first, until the purpose is known
	purpose string // "node", "control" or "rank"
}

// newProxy returns a proxy to an address. Alter is given what crosses, and
// returns what arrives of it, and whether the connection goes on. The test ends
// the proxy.
func newProxy(t *testing.T, to string, alter func(c *crossing, up bool, b []byte) ([]byte, bool)) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: to, alter: alter}
	p.tasks.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.tasks.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := dialSoon(p.to)
		if err != nil {
			from.Close()
			continue
		}
		c := &crossing{}
		p.tasks.Go(func() { p.carry(c, true, to, from) })
		p.tasks.Go(func() { p.carry(c, false, from, to) })
	}
}

// dialSoon connects to an address at which somebody will listen in a moment.
func dialSoon(address string) (conn net.Conn, err error) {
	for range 200 {
		if conn, err = net.Dial("tcp", address); err == nil {
			return conn, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, err
}

// carry copies one direction of a connection.
func (p *proxy) carry(c *crossing, up bool, to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		b, more := c.pass(up, buf[:n], p.alter)
		if _, err := to.Write(b); err != nil || !more {
			return
		}
	}
}

// beforeHello is how long what a dialler says first is at least, before it says
// what the connection is for.
const beforeHello = 80

func (c *crossing) pass(up bool, b []byte, alter func(c *crossing, up bool, b []byte) ([]byte, bool)) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if up && c.purpose == "" {
		c.begun = append(c.begun, b...)
		for _, purpose := range []string{"node", "control", "rank"} {
			if len(c.begun) > beforeHello && bytes.Contains(c.begun[beforeHello:], []byte(purpose)) {
				c.purpose = purpose
			}
		}
	}
	return alter(c, up, b)
}

// Nodes of other versions refuse each other, and both say both versions.
func TestVersionDiffers(t *testing.T) {
	script := writeScript(t, "print('no')\n")
	t.Run("of the protocol", func(t *testing.T) {
		at := launchtest.FreeAddress(t)
		p := newProxy(t, at, func(c *crossing, up bool, b []byte) ([]byte, bool) {
			if bytes.HasPrefix(b, []byte("tpshconn\x01")) {
				b[len("tpshconn")] = 7
			}
			return b, true
		})
		nodes := startNodes(t, at, p.address(), "run", "--rdzv-timeout", "1s", script)
		nodes[1].end(t, 3, nil)
		nodes[0].end(t, 3, nil)
		nodes[0].wants(t, "turned away 127.0.0.1:", ": got version 7 of the protocol, want 1\n", "these have not come: [1]")
		nodes[1].wants(t, "got version 7 of the protocol, want 1\n")
	})
	t.Run("of tpsh", func(t *testing.T) {
		at := launchtest.FreeAddress(t)
		t.Setenv(versionVariable, "v9.9")
		one := startProcess(t, "run", "--nnodes", "2", "--node-rank", "1", "--rdzv", at, script)
		t.Setenv(versionVariable, "v1.0")
		nodes := [2]*process{startProcess(t, "run", "--nnodes", "2", "--node-rank", "0", "--rdzv", at, script), one}
		nodes[1].end(t, 3, nil)
		nodes[0].end(t, 3, nil)
		nodes[0].wants(t, "tpsh: a launcher at 127.0.0.1:", ": it is tpsh v9.9, and node 0 is tpsh v1.0 (want the same)\n")
		nodes[1].wants(t, "refuses this one: it is tpsh v9.9, and node 0 is tpsh v1.0 (want the same)\n")
	})
}

// What is damaged on its way between nodes, or does not arrive at all, ends the
// job at once with the cause, on all nodes, and leaves nothing.
func TestDamage(t *testing.T) {
	script := writeScript(t, "print('go')\nbarrier()\nfor i in range(1 << 40):\n    faults.delay(0, at='all_reduce#%d' % (i + 1), ms=30)\n    all_reduce(ones(1000))\n    print('more')\n")
	damages := map[string]func(b []byte) ([]byte, bool){
		"corrupt": func(b []byte) ([]byte, bool) {
			b[len(b)/2] ^= 0x10
			return b, true
		},
		"cut short": func(b []byte) ([]byte, bool) { return b[:len(b)/2], false },
	}
	for _, purpose := range []string{"rank", "control", "node"} {
		for _, up := range []bool{false, true} {
			for name, damage := range damages {
				t.Run(fmt.Sprintf("%s/up=%v/%s", purpose, up, name), func(t *testing.T) {
					t.Parallel()
					testDamage(t, script, purpose, up, damage)
				})
			}
		}
	}
}

func testDamage(t *testing.T, script, purpose string, up bool, damage func(b []byte) ([]byte, bool)) {
	now := make(chan struct{})
	done := make(chan struct{}, 1) // holds an element when it has happened
	at := launchtest.FreeAddress(t)
	p := newProxy(t, at, func(c *crossing, upward bool, b []byte) ([]byte, bool) {
		select {
		case <-now:
		default:
			return b, true
		}
		if c.purpose != purpose || upward != up {
			return b, true
		}
		select {
		case done <- struct{}{}:
			return damage(b)
		default:
			return b, true
		}
	})
	nodes := startNodes(t, at, p.address(), "run", "--output", "raw", "--nproc-per-node", "1", script)
	nodes[0].line(t)
	workers := append(children(nodes[0].Process.Pid), children(nodes[1].Process.Pid)...)
	close(now)
	go io.Copy(io.Discard, nodes[1].out)
	nodes[0].end(t, 3, workers)
	nodes[1].end(t, 3, workers)
	host, _ := os.Hostname()
	nodes[0].wants(t, " of 2:\n", script+":", " on "+host)
	if got := nodes[0].errs.String(); strings.Contains(got, "nothing was heard") {
		t.Errorf("got:\n%s\nwant it to end at once, and not for silence", got)
	}
}
