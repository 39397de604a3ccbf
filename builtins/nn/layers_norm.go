package nn

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// runningBuffers are what BatchNorm and InstanceNorm keep of what they have seen.
var runningBuffers = []string{"running_mean", "running_var", "num_batches_tracked"}

// A channelNorm is a class of layers that normalise channels: over a batch, or in
// each of its samples.
type channelNorm struct {
	name string
	dims []int // how many dims its input may have
	each bool  // samples are normalised by themselves
}

func init() {
	for i, shapes := range []string{"[n, c] or [n, c, l]", "[n, c, h, w]", "[n, c, d, h, w]"} {
		k := i + 1
		dims := []int{k + 2}
		if k == 1 {
			dims = []int{2, 3}
		}
		example := fmt.Sprintf(">>> m = nn.BatchNorm%dd(2)\n>>> m(rand(4, 2%s)).shape\n(4, 2%s)\n>>> m.num_batches_tracked\n1", k, repeated(k), repeated(k))
		batch := &channelNorm{fmt.Sprintf("BatchNorm%dd", k), dims, false}
		builtins.Register(&builtins.Row{Name: "nn." + batch.name, Fn: batch.constructor(0.1, true),
			MakeDoc: func() string {
				return fmt.Sprintf("%s(num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, dtype=None, device=None) returns a module that applies F.batch_norm to its input %s.\n"+
					"While it trains, channels are normalised by the mean and variance of the batch, of all ranks\n"+
					"if it is distributed, and the buffers running_mean and running_var move towards them; with\n"+
					"momentum=None they are plain means. Otherwise the buffers are used. weight begins as ones,\n"+
					"bias as zeros; without affine neither is there. %s\n%s", batch.name, shapes, docDType, example)
			}})
		instance := &channelNorm{fmt.Sprintf("InstanceNorm%dd", k), []int{k + 1, k + 2}, true}
		builtins.Register(&builtins.Row{Name: "nn." + instance.name, Fn: instance.constructor(0.1, false),
			MakeDoc: func() string {
				return fmt.Sprintf("%s(num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, dtype=None, device=None) returns a module that applies F.instance_norm.\n"+
					"Its input has %d dims, or one less without a batch. With track_running_stats it keeps\n"+
					"means over samples of their mean and variance, and uses them when it does not train;\n"+
					"with momentum=None they stay as they are, and num_batches_tracked always does. %s\n"+
					">>> nn.%s(2)(rand(4, 2%s)).shape\n(4, 2%s)", instance.name, k+2, docDType, instance.name, repeated(k), repeated(k))
			}})
	}
	builtins.Register(&builtins.Row{Name: "nn.PReLU", Fn: newPReLU,
		Doc: "PReLU(num_parameters=1, init=0.25, dtype=None, device=None) returns a module that applies F.prelu: weight [num_parameters], which begins as init, times what is negative.\n" +
			docDType + "\n>>> nn.PReLU()(tensor([-4.0, 2.0])).tolist()\n[-1.0, 2.0]"})
}

func (k *channelNorm) constructor(momentum float64, tracks bool) builtins.Function {
	c := &class{Name: k.name, forward: k.forward, shows: []string{"num_features", "eps", "momentum", "affine", "track_running_stats"}, bare: 1}
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			n     count
			eps                  = arg.Float(1e-5)
			move  starlark.Value = starlark.Float(momentum)
			sizes                = arg.Bool(tracks) // affine is, by default, where running statistics are
			track                = arg.Bool(tracks)
			dt    arg.OptDType
		)
		if err := arg.Unpack(b.Name(), args, kwargs, "num_features", &n, "eps?", &eps, "momentum?", &move, "affine?", &sizes, "track_running_stats?", &track, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
			return nil, err
		}
		if move != starlark.None {
			if err := notNegative(move); err != nil {
				return nil, arg.In(b.Name(), "momentum", err)
			}
		}
		m := newModule(e, c)
		m.plain("num_features", starlark.MakeInt(int(n)), "eps", starlark.Float(eps), "momentum", move, "affine", starlark.Bool(sizes), "track_running_stats", starlark.Bool(track))
		mk, err := newMaker(e, b.Name(), m, dt)
		if err != nil {
			return nil, err
		}
		return m, mk.channelNorm(int(n), bool(sizes), bool(track))
	}
}

// channelNorm makes the parameters and buffers of a layer that normalises n
// channels.
func (mk *maker) channelNorm(n int, affine, track bool) error {
	mk.none("weight")
	mk.none("bias")
	for _, name := range runningBuffers {
		mk.m.Put(Field{name, BufferField, starlark.None})
	}
	if affine {
		if err := mk.constant("weight", "ones", n); err != nil {
			return err
		}
		if err := mk.constant("bias", "zeros", n); err != nil {
			return err
		}
	}
	if !track {
		return nil
	}
	if err := mk.constantBuffer("running_mean", "zeros", n); err != nil {
		return err
	}
	if err := mk.constantBuffer("running_var", "ones", n); err != nil {
		return err
	}
	seen, err := mk.do("zeros", nil, op.IntsN(), op.Int1(int(dtype.Int64)))
	return mk.buffer("num_batches_tracked", seen, err)
}

func (k *channelNorm) forward(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x builtins.OneTensor
	if err := arg.Unpack(k.name, args, kwargs, "input", &x); err != nil {
		return nil, err
	}
	n, err := arg.ToInt(m.Get("num_features"))
	if err != nil {
		return nil, arg.In(k.name+".num_features", "", err)
	}
	s, last := x.T.Shape(), k.dims[len(k.dims)-1]
	alone := k.each && len(s) == last-1
	if at := 1; !slices.Contains(k.dims, len(s)) || !alone && s[at] != n || alone && s[0] != n {
		return nil, &op.ArgError{Func: k.name, Param: "input", Got: op.Describe(x.T), Want: fmt.Sprintf("a float tensor of %s dims with %d channels", dimsList(k.dims), n), Rule: "num_features"}
	}
	if k.each {
		return k.instances(m, x.T, alone)
	}
	return k.batch(m, x.T)
}

// dimsList returns "2 or 3".
func dimsList(dims []int) string {
	if len(dims) == 1 {
		return fmt.Sprint(dims[0])
	}
	return fmt.Sprintf("%d or %d", dims[0], dims[1])
}

// batch applies F.batch_norm to x.
func (k *channelNorm) batch(m *Module, x *tensor.Tensor) (starlark.Value, error) {
	tracks := m.Get("running_mean") != starlark.None
	momentum, err := k.momentum(m, m.training && tracks)
	if err != nil {
		return nil, err
	}
	kwargs := []starlark.Tuple{
		{starlark.String("training"), starlark.Bool(m.training || !tracks)},
		{starlark.String("momentum"), momentum},
		{starlark.String("eps"), m.Get("eps")},
	}
	for _, name := range []string{"running_mean", "running_var", "weight", "bias"} {
		kwargs = append(kwargs, starlark.Tuple{starlark.String(name), m.Get(name)})
	}
	y, err := builtins.CallF(m.env, "batch_norm", starlark.Tuple{m.env.Wrap(x)}, kwargs)
	return y, arg.Rename(k.name, err)
}

// momentum returns how much of a batch goes into the running statistics; if the
// layer is to move them, it counts the batch.
func (k *channelNorm) momentum(m *Module, move bool) (starlark.Value, error) {
	v := m.Get("momentum")
	seen, ok := m.Get("num_batches_tracked").(*builtins.Tensor)
	if !move || !ok {
		if v == starlark.None {
			v = starlark.Float(0)
		}
		return v, nil
	}
	t, err := seen.Tensor()
	if err != nil {
		return nil, err
	}
	if err := builtins.CheckFrozen(k.name, t); err != nil {
		return nil, err
	}
	c := &builtins.OpChain{E: m.env, Fn: k.name}
	c.Do("add_", []*tensor.Tensor{t, tensor.Number(int64(1))})
	if c.Err == nil && v == starlark.None && !t.Hollow() {
		v = starlark.Float(1 / op.Float64At(t, 0))
	}
	if v == starlark.None { // of a plan, whatever it is
		v = starlark.Float(1)
	}
	return v, c.Err
}

// instances applies F.instance_norm to x, or with running statistics what it
// stands for when the layer does not train.
func (k *channelNorm) instances(m *Module, x *tensor.Tensor, alone bool) (starlark.Value, error) {
	c := &builtins.OpChain{E: m.env, Fn: k.name}
	if alone {
		x = c.Do("unsqueeze", []*tensor.Tensor{x}, op.Int1(0))
	}
	if c.Err != nil {
		return nil, c.Err
	}
	tracks := m.Get("running_mean") != starlark.None
	var y starlark.Value
	var err error
	if tracks && !m.training {
		y, err = k.batch(m, x)
	} else {
		kwargs := []starlark.Tuple{{starlark.String("weight"), m.Get("weight")}, {starlark.String("bias"), m.Get("bias")}, {starlark.String("eps"), m.Get("eps")}}
		y, err = builtins.CallF(m.env, "instance_norm", starlark.Tuple{m.env.Wrap(x)}, kwargs)
	}
	if err == nil && tracks && m.training {
		err = k.track(m, x)
	}
	if err != nil || !alone {
		return y, arg.Rename(k.name, err)
	}
	t, err := y.(*builtins.Tensor).Tensor()
	if err != nil {
		return nil, err
	}
	return m.env.Wrap(c.Do("squeeze", []*tensor.Tensor{t}, op.IntsN(0))), c.Err
}

// track moves the running statistics towards the means over samples of their mean
// and variance.
func (k *channelNorm) track(m *Module, x *tensor.Tensor) error {
	defer m.env.Runtime.Tape.SetEnabled(false)()
	momentum, _ := starlark.AsFloat(m.Get("momentum")) // None, which only BatchNorm counts for, is 0
	var over []int
	for d := 2; d < x.Ndim(); d++ {
		over = append(over, d)
	}
	c := &builtins.OpChain{E: m.env, Fn: k.name}
	of := map[string]*tensor.Tensor{
		"running_mean": c.Do("mean", []*tensor.Tensor{x}, op.IntsN(over...), op.Bool1(false)),
		"running_var":  c.Do("var", []*tensor.Tensor{x}, op.IntsN(over...), op.Bool1(false), op.Float1(1)),
	}
	for _, name := range runningBuffers[:2] {
		b, ok := m.Get(name).(*builtins.Tensor)
		if !ok {
			continue
		}
		t, err := b.Tensor()
		if err != nil {
			return err
		}
		now := c.Do("mean", []*tensor.Tensor{of[name]}, op.IntsN(0), op.Bool1(false))
		if c.Err == nil && now.Placed() && !t.Placed() {
			now, c.Err = m.env.Whole(k.name, now)
		}
		c.Do("lerp_", []*tensor.Tensor{t, now}, op.Float1(momentum))
	}
	return c.Err
}

func newPReLU(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		n    = count(1)
		init = arg.Float(0.25)
		dt   arg.OptDType
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "num_parameters?", &n, "init?", &init, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
		return nil, err
	}
	m := newModule(e, preluClass)
	m.plain("num_parameters", starlark.MakeInt(int(n)))
	mk, err := newMaker(e, b.Name(), m, dt)
	if err != nil {
		return nil, err
	}
	w, err := mk.do("full", []*tensor.Tensor{tensor.Number(float64(init))}, op.IntsN(int(n)), op.Int1(int(mk.dt)))
	return m, mk.parameter("weight", w, err)
}

var preluClass = &class{Name: "PReLU", forward: applies("prelu", "input", "weight"), shows: []string{"num_parameters"}}
