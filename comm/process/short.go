package process

import (
	"tpsh/comm"
	"tpsh/comm/schedule"
)

// A call is short if it needs no data but those that come with the contracts, and
// sends no others. It is carried out without the steps of its schedule, which for
// a few bytes take longer than all the rest.

// moveShort carries out a call that is short. It reports false, without an error,
// and has done nothing, if it is not.
func (c *wireCall) moveShort() (done bool, err error) {
	if !c.sent {
		return false, nil
	}
	defer comm.Recovered(c.op.Desc.Op, &err)
	switch c.op.Kind {
	case comm.Barrier:
		return true, nil
	case comm.Broadcast:
		return c.shortBroadcast(), nil
	case comm.AllGather:
		return c.shortExchange(func(int) comm.Block { return c.op.In[0] }), nil
	case comm.AllToAll:
		return c.shortExchange(func(m int) comm.Block { return c.op.In[m] }), nil
	case comm.AllReduce:
		return c.shortReduce(c.op.In[0]), nil
	case comm.ReduceScatter:
		return c.shortReduce(c.op.In[c.group.rank]), nil
	}
	return false, nil
}

// brought returns what a member has sent with its contract, and whether that is
// all of so many bytes.
func (c *wireCall) brought(member, length int) ([]byte, bool) {
	data, there := c.call.carried(dataKey{c.group.ranks[member], 0})
	return data, there && len(data) == length
}

func (c *wireCall) shortBroadcast() bool {
	root := c.op.Desc.Root
	if root == c.group.rank {
		if c.out != nil {
			comm.Copy(c.out[0], c.op.In[0])
		}
		return true
	}
	if len(c.out) != 1 || schedule.Large(c.bytes, len(c.group.ranks)) { // then a chunk has come
		return false
	}
	data, ok := c.brought(root, c.out[0].Len())
	if ok {
		comm.Copy(c.out[0], comm.Whole(data))
	}
	return ok
}

// shortExchange leaves what every member has sent in the block for it, and so the
// member's own, which own returns.
func (c *wireCall) shortExchange(own func(member int) comm.Block) bool {
	if len(c.out) != len(c.group.ranks) {
		return false
	}
	for m, out := range c.out {
		if _, ok := c.brought(m, out.Len()); !ok && m != c.group.rank {
			return false
		}
	}
	for m, out := range c.out {
		if m == c.group.rank {
			comm.Copy(out, own(m))
		} else {
			data, _ := c.brought(m, out.Len())
			comm.Copy(out, comm.Whole(data))
		}
	}
	return true
}

// shortReduce reduces what every member has sent, and own, in rank order.
func (c *wireCall) shortReduce(own comm.Block) bool {
	if len(c.out) != 1 || c.out[0].Len() != own.Len() || !own.Contiguous() || !c.out[0].Contiguous() {
		return false
	}
	n, srcs := own.Len(), c.runs()
	defer clear(srcs)
	for m := range srcs {
		if m == c.group.rank {
			srcs[m] = own.Data[:n]
			continue
		}
		data, ok := c.brought(m, n)
		if !ok {
			return false
		}
		srcs[m] = data
	}
	c.op.Reduce(c.out[0].Data[:n], srcs)
	return true
}

// runs returns a slice for a run of each member.
func (c *wireCall) runs() [][]byte {
	if !c.own {
		return make([][]byte, len(c.group.ranks))
	}
	a := &c.group.scratch
	if a.runs == nil {
		a.runs = make([][]byte, len(c.group.ranks))
	}
	return a.runs
}
