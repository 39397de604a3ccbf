package runtime

import (
	"tpsh/comm"
	"tpsh/comm/inproc"
	"tpsh/comm/process"
)

// fabricOf returns the fabric of the job's n-th generation, n from 0. When
// every rank of this process has come to it, the one before is closed.
func (j *Job) fabricOf(n int) *comm.Fabric {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n == len(j.fabrics) {
		j.fabrics = append(j.fabrics, j.newFabric())
		j.arrived = 0
	}
	if j.arrived++; j.arrived == j.local() && n > 0 {
		j.fabrics[n-1].Close()
	}
	return j.fabrics[n]
}

// local returns how many of the job's ranks are in this process.
func (j *Job) local() int {
	if j.links != nil {
		return 1
	}
	return j.cfg.Size
}

// newFabric connects the ranks anew.
func (j *Job) newFabric() *comm.Fabric {
	if j.links != nil {
		return j.links.Fabric(j.first + len(j.fabrics))
	}
	var f *comm.Fabric
	switch j.cfg.Transport {
	case "frames":
		f = process.NewFrames(j.cfg.Size, j.cfg.Frames)
	default:
		f = inproc.New(j.cfg.Size)
	}
	if j.cfg.Notice != nil {
		f.Notice(j.cfg.NoticeAfter, j.cfg.Notice)
	}
	return f
}

// fabric returns the fabric of the latest generation.
func (j *Job) fabric() *comm.Fabric {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fabrics[len(j.fabrics)-1]
}
