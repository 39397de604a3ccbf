package launch

import (
	"context"
	"errors"
	"sync"
	"time"
)

// patience is how long workers that are told to end may take before they are
// killed.
const patience = time.Second

// Stop ends the ranks, at once those that do not end in time. Nothing of the
// job remains. A session on its connections has been closed.
func (j *Job) Stop() { j.stopping.Do(func() { j.stop(patience) }) }

// stop is Stop, with some patience.
func (j *Job) stop(patience time.Duration) {
	j.mu.Lock()
	close(j.ending)
	j.mu.Unlock()
	if j.stopGrowing != nil {
		j.stopGrowing()
	}
	if j.supervision != nil {
		for r := range j.conns {
			j.supervision.Exits(r)
		}
	}
	var closers sync.WaitGroup
	for _, c := range j.conns {
		if c != nil && j.cluster.front == nil { // else Cluster.Close has more to say
			closers.Go(func() { c.Close() })
		}
	}
	for _, n := range j.cluster.nodes {
		sendJSON(n.conn, order{Stop: true})
		late := time.AfterFunc(j.cluster.opts.peerTimeout(), func() { n.conn.Fail(errNoAnswer) })
		defer late.Stop()
	}
	if j.host != nil {
		j.host.wait(patience)
		j.host.close()
	}
	closers.Wait()
	turned := j.turnAway()
	j.tasks.Wait()
	turned()
	j.disconnect()
}

// turnAway ends the connections that still come from other nodes, until it is
// told to stop: a launcher that waits for an answer to one hears no orders, and
// what a worker has begun is not to be found by the next job.
func (j *Job) turnAway() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var turning sync.WaitGroup
	if j.cluster.opts.severalNodes() && j.listener != nil {
		turning.Go(func() {
			for {
				conn, hello, err := j.listener.Accept(ctx)
				if err != nil {
					return
				}
				j.cluster.beside(conn, hello)
			}
		})
	}
	return func() {
		cancel()
		turning.Wait()
	}
}

var errNoAnswer = errors.New("it does not answer")

// disconnect closes what connects the launcher to ranks that have ended.
func (j *Job) disconnect() {
	switch {
	case j.supervision != nil:
		j.supervision.Close()
	case j.host != nil: // and nobody has taken its streams over
		for _, stream := range j.host.supervisors {
			stream.Close()
		}
	}
	if j.ownListener {
		j.listener.Close()
	}
}
