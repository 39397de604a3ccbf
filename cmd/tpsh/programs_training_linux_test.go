package main

import "fmt"

// training trains a small model for some steps: each rank with all of it, with parts of its
// parameters, or with parts of its layers.
func (s *sketch) training() {
	m := &meshValue{name: s.name("mesh")}
	s.line(`%s = init_device_mesh("cpu", (%d,), mesh_dim_names=("a",))`, m.name, s.ranks)
	in, hidden, out := s.size(), s.size(), s.size()
	net, opt := s.name("net"), s.name("opt")
	s.line("%s = nn.Sequential(nn.Linear(%d, %d), %s, nn.Linear(%d, %d))", net, in, hidden, one(s, []string{"nn.ReLU()", "nn.GELU()", "nn.SiLU()"}), hidden, out)
	part := "rank()"
	switch s.rng.IntN(4) {
	case 0:
		s.line("fully_shard(%s, %s, reshard_after_forward=%s)", net, m.name, one(s, []string{"True", "False"}))
	case 1:
		s.line("replicate(%s, %s)", net, m.name)
	case 2:
		s.line(`parallelize_module(%s, %s, {"0": ColwiseParallel(), "2": RowwiseParallel()})`, net, m.name)
		part = "0"
	default:
		s.line("fully_shard(%s[0], %s)", net, m.name)
		s.line("fully_shard(%s, %s)", net, m.name)
	}
	s.line("%s = optim.%s", opt, fmt.Sprintf(one(s, []string{"SGD(%s.parameters(), lr=0.1, momentum=0.9)", "AdamW(%s.parameters(), lr=0.05)", "Adam(%s.parameters(), lr=0.02)"}), net))
	x, y := s.name("x"), s.name("x")
	rows := s.size()
	s.line("%s, %s = randn(%d, %d), randn(%d, %d)", x, y, s.ranks*rows, in, s.ranks*rows, out)
	s.block(fmt.Sprintf("for _ in range(%d):", 1+s.rng.IntN(3)), func() {
		rowsOf := func(name string) string { return fmt.Sprintf("%s.narrow(0, %s * %d, %d)", name, part, rows, rows) }
		loss := s.name("loss")
		s.line("%s = F.mse_loss(%s(%s), %s)", loss, net, rowsOf(x), rowsOf(y))
		s.line("%s.zero_grad()", opt)
		s.line("%s.backward()", loss)
		if s.chance(2) {
			s.line("print(optim.clip_grad_norm_(%s.parameters(), 0.5))", net)
		}
		s.line("%s.step()", opt)
		s.show(loss)
	})
	s.block(fmt.Sprintf("for name, p in %s.state_dict().items():", net), func() { s.line("show(name, p)") })
	if s.mistake == "" && s.chance(2) {
		s.line(`save_checkpoint(%q, {"net": %s.state_dict(), "opt": %s.state_dict()})`, s.name("checkpoint"), net, opt)
	}
}

// transformer takes a batch through a layer of attention that the ranks share, and back.
func (s *sketch) transformer() {
	mesh, net, x := s.name("mesh"), s.name("net"), s.name("x")
	heads := s.ranks * (1 + s.rng.IntN(2))
	s.line(`%s = init_device_mesh("cpu", (%d,))`, mesh, s.ranks)
	s.line("%s = nn.TransformerEncoderLayer(%d, %d, dim_feedforward=%d, dropout=0.0, batch_first=True, norm_first=%s)", net, 2*heads, heads, 4+s.size(), one(s, []string{"True", "False"}))
	if s.chance(2) {
		s.line("parallelize_module(%s, %s, PairwiseParallel())", net, mesh)
	} else {
		s.line("fully_shard(%s, %s)", net, mesh)
	}
	s.line("%s = randn(2, %d, %d)", x, s.size(), 2*heads)
	loss := s.name("loss")
	s.line("%s = %s", loss, lossOf(fmt.Sprintf("%s(%s)", net, x)))
	s.line("%s.backward()", loss)
	s.show(loss)
	s.block(fmt.Sprintf("for name, p in %s.named_parameters():", net), func() {
		s.line(`print(name, bits(p.grad.full_tensor()) if type(p.grad) == "DTensor" else bits(p.grad))`)
	})
}

// pipeline runs a model whose layers the ranks have, one each or several.
func (s *sketch) pipeline() {
	const width = 4
	schedule := one(s, []string{"gpipe", "1f1b", "interleaved", "zb1p", "zb2p", "zbv", "vhalf", "vmin"})
	micro, chunks := 1+s.rng.IntN(4), 1
	position := fmt.Sprintf("c * %d + rank()", s.ranks)
	switch schedule {
	case "interleaved":
		micro, chunks = s.ranks*(1+s.rng.IntN(2)), 1+s.rng.IntN(2)
	case "zbv", "vhalf", "vmin": // down the stages and back up
		chunks, position = 2, fmt.Sprintf("[rank(), %d - rank()][c]", 2*s.ranks-1)
	}
	s.initParallel()
	ws, x, y, result := s.name("ws"), s.name("x"), s.name("x"), s.name("result")
	s.line("%s = [randn(%d, %d).requires_grad_(True) for _ in range(%d)]", ws, width, width, chunks*s.ranks)
	rows := micro * (1 + s.rng.IntN(3))
	s.line("%s, %s = randn(%d, %d), randn(%d, %d)", x, y, rows, width, rows, width)
	stages := fmt.Sprintf("[(lambda w: lambda h: h.matmul(w).tanh())(%s[%s]) for c in range(%d)]", ws, position, chunks)
	if chunks == 1 && schedule != "interleaved" {
		stages += "[0]"
	}
	s.line("%s = pipeline_schedule(%s, %s, %s, F.mse_loss, %d, schedule=%q)", result, stages, x, y, micro, schedule)
	s.line("print(%s)", result)
	s.show(result + ".loss")
	s.show(result + ".outputs")
	s.line("print([w.grad.tolist() if w.grad != None else None for w in %s])", ws)
}
