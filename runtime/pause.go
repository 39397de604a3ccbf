package runtime

// Pause says that a statement of a shell has ended here with err, and that the
// rank rests until Resume: a rank that waits for it waits in vain, or fails with err
// if there is one. It returns err.
func (r *Rank) Pause(err error) error {
	if err != nil {
		r.end.End(err)
		return err
	}
	r.end.Idle()
	return nil
}

// Resume says that a statement is to begin, on this rank and on all others
// before it begins on any. With failed, the last one ended badly on some rank:
// communication starts afresh, with nothing under way and all calls counted
// from 0, on the groups that there are.
func (r *Rank) Resume(failed bool) {
	if !failed {
		r.end.Resume()
		return
	}
	r.works = nil
	r.generation++
	end := r.job.fabricOf(r.generation).Endpoint(r.id)
	end.Where(r.whereFn)
	for _, g := range r.end.Groups() {
		end.Adopt(g)
	}
	r.end = end
}
