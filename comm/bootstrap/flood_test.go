package bootstrap

import (
	"context"
	"fmt"
	"net"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var rubbish = make([]byte, 64<<10)

// strangers are ways to use a port without the token.
var strangers = map[string]func(conn net.Conn, quit <-chan struct{}){
	"silence": func(conn net.Conn, quit <-chan struct{}) { <-quit },
	"a scan":  func(conn net.Conn, quit <-chan struct{}) {},
	"a byte at a time": func(conn net.Conn, quit <-chan struct{}) {
		for _, b := range []byte(helloMagic + "\x01\x00\x00\x00" + strings.Repeat("n", nonceBytes)) {
			conn.Write([]byte{b})
			select {
			case <-quit:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	},
	"rubbish": func(conn net.Conn, quit <-chan struct{}) {
		for {
			if _, err := conn.Write(rubbish); err != nil {
				return
			}
		}
	},
	"a long text": func(conn net.Conn, quit <-chan struct{}) {
		conn.Write([]byte(helloMagic + "\x01\x00\x00\x00" + strings.Repeat("n", nonceBytes) + "\xff\xff\xff\x7f"))
		<-quit
	},
	"another job": func(conn net.Conn, quit <-chan struct{}) {
		conn.Write([]byte(helloMagic + "\x01\x00\x00\x00" + strings.Repeat("n", nonceBytes) + "\x05\x00\x00\x00other"))
		<-quit
	},
}

// A port that is flooded, scanned or fed slowly takes little memory and few
// goroutines, and who has the token is let in all the same.
func TestFlood(t *testing.T) {
	for name, stranger := range strangers {
		for _, encrypted := range []bool{false, true} {
			if encrypted && (name == "a long text" || name == "another job") {
				continue // they say no more than rubbish before they speak TLS
			}
			t.Run(fmt.Sprintf("%s/tls=%v", name, encrypted), func(t *testing.T) {
				c := &Credentials{Job: "test", Token: []byte("a token"), TLS: encrypted}
				l, err := c.Listen("127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				var host sync.WaitGroup
				defer host.Wait()
				defer l.Close()
				host.Go(func() { // who has the token may come several times
					for {
						conn, _, err := l.Accept(t.Context())
						if err != nil {
							return
						}
						conn.Close()
					}
				})
				before, goroutines := heapInUse(), goruntime.NumGoroutine()
				stop := flood(t, l.Addr().String(), 300, stranger)
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				conn, err := c.Dial(ctx, l.Addr().String(), Hello{})
				for err != nil && ctx.Err() == nil { // the queue of the port may be full
					conn, err = c.Dial(ctx, l.Addr().String(), Hello{})
				}
				if err != nil {
					t.Errorf("who has the token: %v after %v", err, time.Since(began))
				} else {
					conn.Close()
				}
				grown, more := heapInUse()-before, goruntime.NumGoroutine()-goroutines
				if grown > 16<<20 {
					t.Errorf("%d bytes more are in use, want 16 MiB at most", grown)
				}
				if more > 300+2*mostHandshakes+20 { // the flood's own, and two for each handshake
					t.Errorf("%d goroutines more, want at most two for each of %d handshakes", more-300, mostHandshakes)
				}
				stop()
			})
		}
	}
}

// heapInUse returns the bytes of the heap that are reachable.
func heapInUse() int {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// flood keeps so many connections to an address busy until it is stopped.
func flood(t *testing.T, address string, many int, stranger func(net.Conn, <-chan struct{})) (stop func()) {
	var all sync.WaitGroup
	var begun atomic.Int64
	quit := make(chan struct{})
	for range many {
		all.Go(func() {
			for range 20 {
				conn, err := net.DialTimeout("tcp", address, time.Second)
				if err == nil {
					begun.Add(1)
					conn.SetDeadline(time.Now().Add(5 * time.Second))
					stranger(conn, quit)
					conn.Close()
				}
				select {
				case <-quit:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	for end := time.Now().Add(time.Minute); begun.Load() < int64(many)/2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d connections were begun, want %d", begun.Load(), many)
			break
		}
	}
	return func() {
		close(quit)
		all.Wait()
	}
}
