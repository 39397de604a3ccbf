package main

import (
	"context"
	"os"
	"slices"
	"sync"
)

// A pool keeps ranks that are processes from one test to the next: to start
// processes takes longer than most tests. What a program leaves in a rank goes
// with its runtime.Job; the processes and their connections remain.
type pool struct {
	mu   sync.Mutex
	idle []*ranks // whose front end has gone, the longest idle first
	size int      // ranks of idle
}

// maxIdle is how many idle ranks a pool keeps at most.
const maxIdle = 32

// start starts ranks as s does, perhaps in processes that are there.
func (p *pool) start(ctx context.Context, s *starter) (*ranks, error) {
	if r := p.take(s); r != nil {
		if again, err := s.startAgain(ctx, r); err == nil {
			return again, nil
		}
		r.stop() // a rank of it has died, or runs still
	}
	return s.start(ctx)
}

// take takes ranks as s wants them from the pool; nil if there are none.
func (p *pool) take(s *starter) *ranks {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.idle {
		if r.transport == s.transport && len(r.conns) == s.ranks {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.size -= len(r.conns)
			return r
		}
	}
	return nil
}

// put takes ranks back that start has given.
func (p *pool) put(r *ranks) {
	if r.job == nil {
		r.stop()
		return
	}
	os.RemoveAll(r.scratch)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, r)
	p.size += len(r.conns)
	for p.size > maxIdle && len(p.idle) > 1 {
		p.size -= len(p.idle[0].conns)
		p.idle[0].stop()
		p.idle = p.idle[1:]
	}
}

// close ends the ranks of the pool.
func (p *pool) close() {
	for _, r := range p.idle {
		r.stop()
	}
	p.idle, p.size = nil, 0
}
