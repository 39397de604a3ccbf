package inproc

import (
	"time"

	"tpsh/comm"
)

// notice is Fabric.Notice.
func (mo *monitor) notice(after time.Duration, fn func(line string)) {
	f := mo.transport.fabric
	f.Go(func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
			case <-f.Context().Done():
				return
			}
			lines, next := mo.overdue(after)
			for _, line := range lines {
				fn(line)
			}
			timer.Reset(next)
		}
	})
}

// overdue returns a line for each rank that has waited for longer than after
// without a line yet, and when to look again.
func (mo *monitor) overdue(after time.Duration) (lines []string, next time.Duration) {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	next = after
	for _, w := range mo.blocked {
		if w == nil || w.told {
			continue
		}
		if left := after - time.Since(w.since); left > 0 {
			next = min(next, left)
			continue
		}
		if over, _ := mo.outcomeLocked(w); !over {
			w.told = true
			lines = append(lines, comm.NoticeLine(w.rank, after, w.text()+comm.AtLine(w.where()), w.missing()))
		}
	}
	return lines, next
}
