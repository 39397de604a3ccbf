package main

import (
	"fmt"
	"slices"

	"tpsh/cmd/tpsh/launch"
)

// hereCase is a piece of script that is measured, and planned to see what the
// hardware file must say for the plan to take as long.
type hereCase struct {
	ranks        int
	transport    string
	before, body string
}

// layerText is a layer of a transformer with its gradient and a step: of hidden size %[1]d, for %[3]d
// sequences of %[2]d tokens. Its linears are what %[4]s makes of an nn.Linear and what divides it.
const layerText = `
mesh = init_device_mesh("cpu", (world_size(),))
divided = lambda style, m: parallelize_module(m, mesh, style())
whole = lambda style, m: m
sharded = lambda style, m: fully_shard(m, mesh) or m
linear = lambda style, n, k: %[4]s(style, nn.Linear(n, k))
parts = struct(up = linear(ColwiseParallel, %[1]d, 4 * %[1]d), down = linear(RowwiseParallel, 4 * %[1]d, %[1]d), norm = nn.LayerNorm(%[1]d),
    q = linear(ColwiseParallel, %[1]d, %[1]d), k = linear(ColwiseParallel, %[1]d, %[1]d), v = linear(ColwiseParallel, %[1]d, %[1]d), o = linear(RowwiseParallel, %[1]d, %[1]d))
adam = optim.AdamW([p for m in [parts.up, parts.down, parts.norm, parts.q, parts.k, parts.v, parts.o] for p in m.parameters()], lr = 0.001)
x = rand(%[3]d, %[2]d, %[1]d)
angles = rand(%[2]d, 1, %[1]d // 8)
def turned(x):
    a, b = x.chunk(2, -1)
    return cat([a * angles - b * angles, b * angles + a * angles], -1)
def step():
    y = parts.norm(x)
    q, k, v = [f(y).reshape(%[3]d, %[2]d, -1, %[1]d // 4) for f in [parts.q, parts.k, parts.v]]
    q, k, v = turned(q).transpose(1, 2), turned(k).transpose(1, 2), v.transpose(1, 2)
    y = F.scaled_dot_product_attention(q, k, v, is_causal = True)
    y = x + parts.o(y.transpose(1, 2).reshape(%[3]d, %[2]d, -1))
    y = y + parts.down(F.gelu(parts.up(parts.norm(y))))
    (y * y).mean().backward()
    adam.step()
    adam.zero_grad()
`

// decodeText makes a token with a decoder of two layers and four heads that a mesh divides: of
// nothing but the host's work, as programs have it, that do many things in turn. Between the parts
// of a layer all ranks have the token, or, where %[3]s is True, the first has it, as in sequence parallelism.
const decodeText = `
mesh = init_device_mesh("cpu", (world_size(),))
style = lambda style, m: parallelize_module(m, mesh, style)
column = lambda n, k: style(ColwiseParallel(), nn.Linear(n, k, bias = False))
row = lambda n, k: style(RowwiseParallel(), nn.Linear(n, k, bias = False))
norm, whole = nn.RMSNorm, lambda y: y
token = ones(1, 1, %[1]d)
if %[3]s:
    row = lambda n, k: style(RowwiseParallel(output_layouts = Shard(1), use_local_output = False), nn.Linear(n, k, bias = False))
    norm, whole = lambda n: style(SequenceParallel(), nn.RMSNorm(n)), lambda y: y.redistribute(placements = [Replicate()])
    token = distribute_tensor(token, mesh, [Shard(1)])
past = zeros(1, 4 // world_size(), %[2]d, %[1]d // 4)
layers = [struct(first = norm(%[1]d), q = column(%[1]d, %[1]d), k = column(%[1]d, %[1]d), v = column(%[1]d, %[1]d), o = row(%[1]d, %[1]d),
    second = norm(%[1]d), gate = column(%[1]d, 4 * %[1]d), up = column(%[1]d, 4 * %[1]d), down = row(4 * %[1]d, %[1]d)) for _ in range(2)]
angles = arange(%[1]d // 4).to(float32)
def turned(x):
    a, b = x.chunk(2, -1)
    return x * angles.cos() + cat([b * -1, a], -1) * angles.sin()
def decode():
    x = token
    for layer in layers:
        y = whole(layer.first(x))
        q, k, v = [f(y).reshape(1, 1, -1, %[1]d // 4).transpose(1, 2) for f in [layer.q, layer.k, layer.v]]
        k, v = cat([past, turned(k)], 2), cat([past, v], 2)
        y = F.scaled_dot_product_attention(turned(q), k, v)
        x = x + layer.o(y.transpose(1, 2).reshape(1, 1, -1))
        y = whole(layer.second(x))
        x = x + layer.down(F.silu(layer.gate(y)) * layer.up(y))
    whole(x)[0, -1].argmax().item()
def step():
    no_grad(decode)
`

// classifyText teaches a network of two layers classes, as many rows of few.
const classifyText = `
net = nn.Sequential(nn.Linear(64, %[1]d), nn.ReLU(), nn.Linear(%[1]d, 10))
adam = optim.Adam(net.parameters(), lr = 0.001)
x, y = rand(%[2]d, 64), randint(0, 10, (%[2]d,))
def step():
    F.cross_entropy(net(x), y).backward()
    adam.step()
    adam.zero_grad()
`

// scriptText counts and sorts %[1]d words. Most of what it does is the script's own, as where programs
// read, pack and look up.
const scriptText = `
words = ["w%%d" %% (i * 7 %% 61) for i in range(%[1]d)]
x = ones(8)
def count(words):
    seen = {}
    for w in words:
        seen[w] = seen.get(w, 0) + 1
    return seen
def step():
    seen, at, places = count(words), 0, []
    for w, n in seen.items():
        if n > 1 and w != "w0":
            places.append((n, at))
        at += n
    most = sorted([n for n, at in places if at %% 3 == 1])[:4]
    x + len(most)
`

// layer returns a case of layerText.
func layer(ranks int, transport string, hidden, tokens, sequences int, made string) hereCase {
	return hereCase{ranks, transport, fmt.Sprintf(layerText, hidden, tokens, sequences, made), "step()"}
}

// decode returns a case of decodeText, of hidden size hidden.
func decode(ranks int, transport string, hidden int, divided string) hereCase {
	return hereCase{ranks, transport, fmt.Sprintf(decodeText, hidden, hidden*3/8, divided), "step()"}
}

// watchedCases are programs of which each operation is measured, from where the host is all
// to where products are: kernels as they find their inputs in a program, and the host as kernels
// leave the cache. Some are of one rank, to whose products all cores are free, and some of a rank for
// each core that have nothing to do with each other.
func watchedCases(cores int) []hereCase {
	var all []hereCase
	for _, made := range []string{"whole", "divided"} {
		for _, size := range [][3]int{{32, 16, 1}, {64, 64, 8}, {256, 64, 2}} {
			all = append(all, layer(1, "inproc", size[0], size[1], size[2], made))
		}
	}
	for _, size := range []int{16, 64} {
		all = append(all, decode(1, "inproc", size, "False"))
	}
	for _, words := range []int{40, 400} {
		all = append(all, hereCase{1, "inproc", fmt.Sprintf(scriptText, words), "step()"})
	}
	for _, size := range [][2]int{{128, 1024}, {32, 64}} {
		all = append(all, hereCase{1, "inproc", fmt.Sprintf(classifyText, size[0], size[1]), "step()"})
	}
	if cores > 1 {
		for _, size := range [][3]int{{64, 64, 8}, {256, 64, 2}} {
			all = append(all, layer(cores, "inproc", size[0], size[1], size[2], "whole"))
		}
		all = append(all, hereCase{cores, "inproc", fmt.Sprintf(classifyText, 128, 1024), "step()"})
	}
	return all
}

// callCases are the smallest call of two ranks again and again, and steps of layers that they share,
// on both transports of one machine. Calls of programs find what they move where those have left
// it, and ranks that come late: they take several times what the same call takes again and again.
func callCases() []hereCase {
	var all []hereCase
	for _, transport := range []string{"inproc", launch.SharedMemory} {
		if !slices.Contains(transports(), transport) {
			continue
		}
		all = append(all, hereCase{2, transport, "x = ones(2)", "all_reduce(x)"}, decode(2, transport, 64, "False"), decode(2, transport, 64, "True"))
		all = append(all, layer(2, transport, 32, 16, 1, "divided"), layer(2, transport, 64, 16, 2, "divided"))
		for _, made := range []string{"divided", "sharded"} {
			all = append(all, layer(2, transport, 256, 64, 2, made))
		}
	}
	return all
}

// crowdText multiplies matrices of %[1]d and calls.
const crowdText = `
x, few = rand(%[1]d, %[1]d), ones(8)
def step():
    y = x
    for _ in range(4):
        y = F.silu(y @ x)
    all_reduce(few)
`

// crowdedCases are programs of more ranks than there are cores, in which little is done between
// two calls: a rank that has waited must have a core again.
func crowdedCases(cores int) []hereCase {
	var all []hereCase
	for _, transport := range []string{"inproc", launch.SharedMemory} {
		if !slices.Contains(transports(), transport) {
			continue
		}
		for _, size := range []int{8, 32, 96} {
			all = append(all, hereCase{2 * cores, transport, fmt.Sprintf(crowdText, size), "step()"})
		}
		if cores < 4 {
			all = append(all, decode(4, transport, 64, "False")) // a head each
		}
	}
	return all
}
