package process

import (
	"tpsh/comm"
	"tpsh/comm/schedule"
)

// A call is short if it needs no data but those that come with the contracts, and
// nothing is left to send. It is carried out as any other, but at once: nobody waits,
// nothing is cut in pieces, and no receive buffers are posted.

// isShort reports whether a call with these steps left is short. When it is asked,
// every contract is there.
func (c *wireCall) isShort(left []schedule.Step) bool {
	if !c.sent {
		return false
	}
	for i := range left {
		switch left[i].Do {
		case schedule.DoSend:
			return false
		case schedule.DoRecv:
			if _, there := c.call.carried(c.dataKey(&left[i])); !there {
				return false
			}
		}
	}
	return true
}

// run returns the bytes of a part, if that is a whole block of a few bytes in one run.
func (c *wireCall) run(p *schedule.Part) (b []byte, ok bool) {
	var block *comm.Block
	switch {
	case c.pieces || p.Parts != 0:
		return nil, false
	case p.Mem == schedule.MemSlot:
		if p.Block < len(c.slots) {
			b = c.slots[p.Block]
		}
		return b, schedule.IsShort(len(b))
	case p.Mem == schedule.MemIn:
		block = &c.op.In[p.Block]
	default:
		block = &c.out[p.Block]
	}
	return block.ShortRun()
}
