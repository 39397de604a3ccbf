package hang

// A progress says where a rank is, seen from a call.
type progress int

const (
	unknown progress = iota
	before           // held up in an earlier call
	inside           // in the same call, as far as it has finished
	past             // has finished it
)

// progress says where p is, seen from a peer's call c that p has made.
func (g *graph) progress(p *Rank, c *Call) progress {
	if s := p.status(c.Group); s.Done >= c.At.Seq && !c.Group.P2P && c.Backend != "gloo" {
		return past
	}
	if first := p.firstPending(c.Group); first != nil && first.At.Compare(c.At) < 0 {
		return before
	}
	own := p.find(c.Group, c.At)
	switch {
	case own == nil:
		return unknown
	case own.Done == Done && own.Sure:
		return past
	case own.Done == Pending && p.now != own:
		return before
	case own.Done == Pending:
		return inside
	}
	return unknown
}

// firstPending returns the first of r's calls in g that has not finished, or nil.
func (r *Rank) firstPending(g *Group) *Call {
	for _, c := range r.in[g] {
		if c.Done == Pending {
			return c
		}
	}
	return nil
}

// joint has the operations that no member finishes before all have done their part.
var joint = map[string]bool{
	"all_reduce": true, "allreduce_coalesced": true, "barrier": true, "all_reduce_barrier": true,
	"all_gather": true, "_all_gather_base": true, "all_gather_single": true, "all_gather_into_tensor_coalesced": true, "all_gather_v": true,
	"reduce_scatter": true, "_reduce_scatter_base": true, "reduce_scatter_single": true, "reduce_scatter_tensor_coalesced": true, "reduce_scatter_v": true,
	"all_to_all": true, "all_to_all_single": true, "all_to_all_v_single": true,
}

// broken returns the earliest call of r that r's device has done and r does not
// know of, or nil: a peer has finished a later call of the same group, which
// takes r's part in it, and so r's end of all before. What r waits for is then
// of no account.
func (g *graph) broken(r *Rank) *Call {
	var found *Call
	for grp := range r.in {
		first := r.firstPending(grp)
		if first == nil || !joint[first.Op] || found != nil && found.Record <= first.Record {
			continue
		}
		for _, id := range grp.Members {
			if p := g.job.Ranks[id]; p != nil && id != r.ID && g.finishedLater(p, r, first) {
				found = first
				break
			}
		}
	}
	return found
}

// finishedLater reports whether p has finished a joint call behind r's pending
// call c of the same group.
func (g *graph) finishedLater(p, r *Rank, c *Call) bool {
	for _, later := range r.in[c.Group] {
		if later.At.Seq > c.At.Seq && joint[later.Op] {
			return g.progress(p, later) == past
		}
	}
	return false
}
