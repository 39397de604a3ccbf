package process_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/bootstrap"
	"tpsh/comm/commtest"
	"tpsh/comm/process"
)

var token = []byte("a token of 32 bytes for the test")

// patience is how long a handshake may take on a busy machine.
const patience = 5 * time.Minute

// tcp returns an opener of ranks that meet as processes do, and talk through
// the connections that come of it.
func tcp(c bootstrap.Credentials) commtest.Opener {
	return func(size int) *comm.Fabric {
		supervision, links, err := meet(context.Background(), &c, size, func(int) (int, *bootstrap.Credentials) { return size, &c })
		if err != nil {
			panic(err)
		}
		return process.Join(supervision, links)
	}
}

// meet has size ranks meet, or all give up soon after one of them has. world tells for
// each rank how many it says there are, and its credentials.
func meet(ctx context.Context, c *bootstrap.Credentials, size int, world func(rank int) (int, *bootstrap.Credentials)) (*process.Supervision, []*process.Links, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := c.Listen("127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	links, errs := make([]*process.Links, size), make([]error, size+1)
	var ranks sync.WaitGroup
	for r := range links {
		ranks.Go(func() {
			n, own := world(r)
			m, err := bootstrap.Meet(ctx, own, l.Addr().String(), r, n)
			if err != nil {
				errs[r] = fmt.Errorf("rank %d: %w", r, err)
				time.AfterFunc(3*time.Second, cancel) // nobody waits for it for ever
				return
			}
			if links[r], err = process.Connect(process.Through(m)); err != nil {
				panic(err)
			}
		})
	}
	conns, err := bootstrap.Rendezvous(ctx, l, size, nil)
	if errs[size] = err; err != nil {
		time.AfterFunc(200*time.Millisecond, cancel)
	}
	ranks.Wait()
	o := process.SuperviseOptions{Heartbeat: true}
	for _, conn := range conns {
		o.Streams = append(o.Streams, conn)
	}
	return process.Supervise(o), links, errors.Join(errs...)
}

func TestTCP(t *testing.T) {
	conform(t, tcp(bootstrap.Credentials{Job: "test", Token: token, Timeout: patience}))
}

func TestTCPWithTLS(t *testing.T) {
	c := bootstrap.Credentials{Job: "test", Token: token, TLS: true, Timeout: patience}
	for size := range 3 {
		f := tcp(c)(size + 2)
		for rank, err := range commtest.Exercise(t, f, 3) {
			if err != nil {
				t.Errorf("rank %d of %d: %v", rank, size+2, err)
			}
		}
		f.Close()
	}
}

// Ranks that do not belong together do not meet, and say why.
func TestMeetFails(t *testing.T) {
	good := &bootstrap.Credentials{Job: "test", Token: token}
	for _, test := range []struct {
		name  string
		world func(rank int) (int, *bootstrap.Credentials)
		want  []string
	}{
		{"another world", func(rank int) (int, *bootstrap.Credentials) { return 2 + rank, good },
			[]string{"rank 1 says there are 3 ranks, want 2"}},
		{"another token", func(rank int) (int, *bootstrap.Credentials) {
			return 2, &bootstrap.Credentials{Job: "test", Token: append([]byte{byte(rank)}, token[1:]...)}
		}, []string{"tokens may differ"}},
		{"another job", func(rank int) (int, *bootstrap.Credentials) {
			return 2, &bootstrap.Credentials{Job: fmt.Sprint("job ", rank), Token: token}
		}, []string{`got job "test", want "job 0"`, `got job "test", want "job 1"`}},
		{"no TLS", func(rank int) (int, *bootstrap.Credentials) {
			return 2, &bootstrap.Credentials{Job: "test", Token: token, TLS: true}
		}, []string{"TLS"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			missing := func(err error) (list []string) {
				for _, want := range test.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						list = append(list, want)
					}
				}
				return list
			}
			var err error
			for limit := 3 * time.Second; limit < 5*time.Minute; limit *= 4 { // a busy machine is given more time
				if err = meetFor(t, limit, good, test.world); len(missing(err)) == 0 {
					return
				}
			}
			t.Errorf("got %v, want %q", err, missing(err))
		})
	}
}

// meetFor has two ranks meet, who have so long, for some wait for others in vain, and returns
// the error.
func meetFor(t *testing.T, limit time.Duration, c *bootstrap.Credentials, world func(rank int) (int, *bootstrap.Credentials)) error {
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("the time is over"))
	defer cancel()
	supervision, links, err := meet(ctx, c, 2, world)
	if supervision != nil {
		defer supervision.Close()
	}
	for _, l := range links {
		if l != nil {
			l.Close()
		}
	}
	return err
}

// Who is no member of the job is turned away, and keeps nobody waiting.
func TestListenerRejects(t *testing.T) {
	strangers := map[string]string{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n": "it is not tpsh",
		"":                           "no answer for 50ms",
		"tpshconn\x09\x00\x00\x00":   "got version 9 of the protocol, want 1",
		"tpshconn\x01\x00\x00\x00ab": "no answer for 50ms",
		"tpshconn\x01\x00\x00\x00" + strings.Repeat("n", 32) + "\xff\xff\xff\xff":                               "got a text of 4294967295 bytes, want at most 4096",
		"tpshconn\x01\x00\x00\x00" + strings.Repeat("n", 32) + "\x04\x00\x00\x00test" + strings.Repeat("p", 32): "does not know the job's token",
	}
	for said, want := range strangers {
		c := &bootstrap.Credentials{Job: "test", Token: token, Timeout: time.Minute}
		if strings.HasSuffix(want, "50ms") {
			c.Timeout = 50 * time.Millisecond
		}
		l, err := c.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		rejected := make(chan string, 10)
		l.Rejected = func(address string, err error) { rejected <- err.Error() }
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go conn.Write([]byte(said))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			if got := <-rejected; !strings.Contains(got, want) {
				t.Errorf("%q: got %s, want %s", said, got, want)
			}
		}()
		if conn, _, err := l.Accept(ctx); err == nil {
			t.Errorf("%q was accepted", said)
			conn.Close()
		}
		<-ctx.Done()
	}
}

// Without a token nothing leaves the host.
func TestLoopbackOnly(t *testing.T) {
	c := &bootstrap.Credentials{Job: "test"}
	for _, address := range []string{"0.0.0.0:0", "192.0.2.1:1", "example.org:1", ":0"} {
		if l, err := c.Listen(address); err == nil || !strings.Contains(err.Error(), "got no token, want one") {
			t.Errorf("Listen(%q): got %v and %v, want an error about the token", address, l, err)
		}
		if conn, err := c.Dial(t.Context(), address, bootstrap.Hello{}); err == nil || !strings.Contains(err.Error(), "got no token, want one") {
			t.Errorf("Dial(%q): got %v and %v, want an error about the token", address, conn, err)
		}
	}
}
