package main

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"
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

// watchMemory begins to watch how much memory the process uses; the function
// that it returns ends that and adds the figures.
func (f *figures) watchMemory() (end func()) {
	debug.FreeOSMemory()
	before, ok := resetPeak()
	if !ok {
		return func() {}
	}
	return func() {
		f.idle, f.peak = before, peakMemory()
		goruntime.GC()
	}
}
