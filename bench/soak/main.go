// Soak runs all collectives, checkpoints and errors that are caught for a given time, and looks
// meanwhile at what the processes of the ranks hold: memory, descriptors and threads. It fails if
// one of them has grown between the first and the last third of the time.
//
//	go run ./bench/soak -for 10m
//	go run ./bench/soak -for 1h -transport tcp -ranks 8
//
// Memory may grow by a tenth and 16 MB, since a collection of garbage comes when it comes; the
// most of each third is compared. A rank has as many threads as it has ever needed at the same time; a
// descriptor and a thread more are no growth if there are no two.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A soak is one run.
type soak struct {
	tpsh, dir string
	length    time.Duration
	ranks     int
	every     time.Duration // between two looks
}

func main() {
	s := &soak{}
	flag.StringVar(&s.tpsh, "tpsh", "", "run the binary `FILE` instead of building one")
	flag.DurationVar(&s.length, "for", 10*time.Minute, "run each transport for so long")
	flag.IntVar(&s.ranks, "ranks", 4, "on so many ranks")
	transports := flag.String("transport", "shm,tcp", "on these transports, one after the other")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx, strings.Split(*transports, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// run runs all transports.
func (s *soak) run(ctx context.Context, transports []string) (err error) {
	if s.ranks < 2 || s.length < time.Second {
		return fmt.Errorf("got %d ranks for %v, want 2 or more for a second or more", s.ranks, s.length)
	}
	s.every = max(s.length/300, 50*time.Millisecond)
	if s.dir, err = os.MkdirTemp("", "tpsh-soak-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	if s.tpsh == "" {
		s.tpsh = filepath.Join(s.dir, "tpsh")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", s.tpsh, "./cmd/tpsh").CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	for _, transport := range transports {
		err = errors.Join(err, s.transport(ctx, transport))
	}
	return err
}

// transport runs the script on a transport, and tells what the processes held.
func (s *soak) transport(ctx context.Context, transport string) error {
	script := filepath.Join(s.dir, "soak.star")
	seconds := strconv.FormatFloat(s.length.Seconds(), 'f', -1, 64)
	if err := os.WriteFile(script, fmt.Appendf(nil, soaked, seconds), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, s.tpsh, "run", "-n", strconv.Itoa(s.ranks), "--transport", transport, script)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	looks, err := s.watch(cmd.Process.Pid, ended)
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", transport, err, &errs)
	}
	_, rounds, _ := strings.Cut(strings.TrimSpace(out.String()), "rounds\t")
	first, last := thirds(looks)
	fmt.Printf("%s, %d ranks, %v, %s rounds: at most %v in the first third, %v in the last\n", transport, s.ranks, s.length, rounds, first, last)
	if err := grown(first, last); err != nil {
		return fmt.Errorf("%s: %w", transport, err)
	}
	return nil
}

// watch looks at the processes that one has started until it ends.
func (s *soak) watch(pid int, ended <-chan error) (looks []holding, err error) {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return looks, err
		case <-tick.C:
			if h, ok := look(pid, s.ranks); ok {
				looks = append(looks, h)
			}
		}
	}
}
