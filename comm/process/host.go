package process

import (
	"context"

	"tpsh/comm/wire"
)

// A streamHost is Links as packages stream and tcp see them.
type streamHost struct{ links *Links }

func (h streamHost) Accept(peer int, f *wire.Frame) (come bool, err error) {
	wr, come := h.links.rankIn(f.Generation)
	if come && wr != nil {
		err = wr.acceptFrame(peer, f)
	}
	return come, err
}

func (h streamHost) AwaitGeneration(generation uint32) { h.links.awaitGeneration(generation) }
func (h streamHost) Lose(peer int, cause error)        { h.links.lose(peer, cause) }
func (h streamHost) Pump() (came bool)                 { return h.links.pump() }
func (h streamHost) Context() context.Context          { return h.links.ctx }
func (h streamHost) Go(task func())                    { h.links.tasks.Go(task) }
