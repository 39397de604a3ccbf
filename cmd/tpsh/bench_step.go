package main

import (
	"context"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"time"
)

// stepScript trains a network of two layers, cut along the ranks as Megatron
// does: the first by columns, the second by rows. x needs no gradient.
const stepScript = lineMesh + `
model = nn.Sequential(nn.Linear(%[2]d, %[3]d), nn.ReLU(), nn.Linear(%[3]d, %[4]d))
parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
optimizer = optim.SGD(model.parameters(), lr=0.01)
x, target = randn(%[1]d, %[2]d), randn(%[1]d, %[4]d)
def step():
    loss = F.mse_loss(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
first = F.mse_loss(model(x), target).item()
`

// stepCheck says that the steps have trained the network.
const stepCheck = "assert.true(F.mse_loss(model(x), target).item() < first)"

func (b *bench) stepCases() []*benchCase {
	var all []*benchCase
	for _, size := range [][4]int{{32, 64, 256, 64}, {256, 1024, 4096, 1024}} {
		for _, ranks := range onOneAnd(b.ranks) {
			all = append(all, &benchCase{
				suite: "step", name: fmt.Sprintf("step/mlp/%dx%dx%dx%d", size[0], size[1], size[2], size[3]), ranks: ranks,
				before: fmt.Sprintf(stepScript, size[0], size[1], size[2], size[3]), body: "step()", check: stepCheck,
				cost: stepCost(ranks, size[0], size[1], size[2], size[3]),
			})
		}
	}
	return all
}

// stepCost returns what a step of the network costs on so many ranks. Of the
// two layers there are two products forward, two for the gradients of the
// weights, and one for that of what is between them. To be kept are the
// parameters and their gradients (SGD has no state); on every rank the input,
// the target, the result and its difference from the target; between the layers
// the values before and behind the ReLU and the gradient of one of them; and on
// every rank a buffer in which to sum the results.
func stepCost(ranks, batch, in, hidden, out int) cost {
	params := in*hidden + hidden + hidden*out + ranks*out
	activations := ranks*batch*(in+3*out) + 3*batch*hidden
	buffers := ranks * batch * out
	return cost{
		bytes:  4 * in * hidden,
		flops:  2 * float64(batch) * float64(hidden) * float64(3*out+2*in),
		memory: 4 * (2*params + activations + buffers),
	}
}

// idleMemory returns the bytes that are resident when the ranks of the cases
// before have given back what they had, which they do a moment after a
// collection.
func idleMemory() int {
	goruntime.GC()
	time.Sleep(20 * time.Millisecond)
	debug.FreeOSMemory()
	return residentMemory()
}

// warmUp is how many turns have passed when the memory of the step is watched:
// what the making of the network took has been given back.
const warmUp = 16

// measureStep measures c and the memory that its steps take.
func (b *bench) measureStep(ctx context.Context, c *benchCase, f *figures) error {
	f.idle = idleMemory()
	m, err := b.newMeter(ctx, c)
	if err != nil {
		return err
	}
	defer m.close()
	if _, err := m.turns(ctx, warmUp); err != nil {
		return err
	}
	watched := resetPeak()
	if err := m.measure(ctx, c, f, b.time); err != nil {
		return err
	}
	if watched && b.transport == "inproc" {
		f.peak = peakMemory()
	}
	return nil
}
