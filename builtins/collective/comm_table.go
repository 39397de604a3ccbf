package collective

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime"
	"tpsh/runtime/op"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "comm_table",
		Doc: "comm_table(fn) returns a CommTable of what fn() communicates on this rank: a row for each operation, mesh dim and phase.\n" +
			">>> t = comm_table(lambda: [all_reduce(ones(2)), all_reduce(ones(3)), barrier()])\n" +
			">>> len(t)\n2\n" +
			">>> t[\"all_reduce\"].calls, t[\"all_reduce\"].bytes\n(2, 20)",
		Fn: commTable,
	}, &builtins.Row{
		Name: "CommTable",
		Doc: "CommTable is the type of what comm_table returns. It prints as a table, with a row of sums in the end.\n" +
			"t[0] is its first row, a struct of op, dims, phase and what is counted. t[\"all_reduce\"],\n" +
			"t[\"tp\"] and t[\"backward\"] are the rows of an operation, a mesh dim or a phase, and\n" +
			"t[\"all_reduce\", \"tp\"] of both; they have sums, too, and may be none.",
	})
	sum := func(name, what, example string, of func(s *runtime.Sum) starlark.Value) {
		builtins.Register(&builtins.Row{Name: "CommTable." + name, Doc: name + " is " + what + ", of all rows.\n" + example,
			Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) { return of(x.(*CommTable).sum()), nil }})
	}
	sum("calls", "how many calls there are", ">>> comm_table(barrier).calls\n1", func(s *runtime.Sum) starlark.Value { return starlark.MakeInt(s.Calls) })
	sum("bytes", "the payload that this rank put in", ">>> comm_table(lambda: all_reduce(ones(2))).bytes\n8", func(s *runtime.Sum) starlark.Value { return starlark.MakeInt(s.Bytes) })
	sum("wire_bytes", "what this rank sent, in the message form of the operations", ">>> comm_table(barrier).wire_bytes\n0", func(s *runtime.Sum) starlark.Value { return starlark.MakeInt(s.Wire) })
	sum("ring_bytes", "what this rank would send if each call went around a ring: 2n(p-1)/p of an all_reduce of n bytes among p ranks, half of it of a reduce_scatter or of the whole of an all_gather",
		">>> comm_table(barrier).ring_bytes\n0", func(s *runtime.Sum) starlark.Value { return starlark.MakeInt(s.Ring) })
	sum("seconds", "how long the calls took here", ">>> comm_table(barrier).seconds >= 0\nTrue", func(s *runtime.Sum) starlark.Value { return starlark.Float(s.Seconds) })
}

func commTable(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn arg.Callable
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	_, records, err := builtins.Traced(e, fn.Fn)
	if err != nil {
		return nil, err
	}
	return &CommTable{e, runtime.Summarize(records)}, nil
}

// A CommTable is what calls come to, by operation, mesh dims and phase.
type CommTable struct {
	env  *builtins.Env
	rows []*runtime.Sum
}

var (
	_ starlark.HasAttrs = (*CommTable)(nil)
	_ starlark.Mapping  = (*CommTable)(nil)
	_ starlark.Sequence = (*CommTable)(nil)
)

func (t *CommTable) Type() string          { return "CommTable" }
func (t *CommTable) Freeze()               {} // it cannot be changed
func (t *CommTable) Truth() starlark.Bool  { return len(t.rows) > 0 }
func (t *CommTable) Hash() (uint32, error) { return 0, builtins.Unhashable(t) }
func (t *CommTable) Attr(name string) (starlark.Value, error) {
	return t.env.Attr("CommTable", t, name)
}
func (t *CommTable) AttrNames() []string { return builtins.AttrNames("CommTable") }
func (t *CommTable) Len() int            { return len(t.rows) }

// Iterate implements starlark.Iterable: the rows.
func (t *CommTable) Iterate() starlark.Iterator {
	list := make([]starlark.Value, len(t.rows))
	for i, s := range t.rows {
		list[i] = rowStruct(s)
	}
	return starlark.NewList(list).Iterate()
}

// rowStruct returns a row as scripts have it.
func rowStruct(s *runtime.Sum) starlark.Value {
	return builtins.NewStruct(starlark.StringDict{
		"op":         starlark.String(s.Op),
		"dims":       builtins.StringTuple(s.Dims),
		"phase":      starlark.String(s.Phase),
		"calls":      starlark.MakeInt(s.Calls),
		"bytes":      starlark.MakeInt(s.Bytes),
		"wire_bytes": starlark.MakeInt(s.Wire),
		"ring_bytes": starlark.MakeInt(s.Ring),
		"seconds":    starlark.Float(s.Seconds),
	})
}

// Get implements starlark.Mapping: a row by its number, rows by what they have in
// common.
func (t *CommTable) Get(key starlark.Value) (starlark.Value, bool, error) {
	switch k := key.(type) {
	case starlark.Int:
		i, err := starlark.AsInt32(k)
		if i < 0 {
			i += len(t.rows)
		}
		if err != nil || i < 0 || i >= len(t.rows) {
			want := fmt.Sprintf("0..%d", len(t.rows)-1)
			if len(t.rows) == 0 {
				want = "no number"
			}
			return nil, false, &op.ArgError{Func: "CommTable[...]", Got: key.String(), Want: want, Rule: units.Count(len(t.rows), "row")}
		}
		return rowStruct(t.rows[i]), true, nil
	case starlark.String:
		return t.having(string(k)), true, nil
	case starlark.Tuple:
		some := t
		for _, each := range k {
			s, ok := starlark.AsString(each)
			if !ok {
				return nil, false, badTableKey(each)
			}
			some = some.having(s)
		}
		return some, true, nil
	}
	return nil, false, badTableKey(key)
}

func badTableKey(key starlark.Value) error {
	return &op.ArgError{Func: "CommTable[...]", Got: arg.Show(key), Want: "an int, or the name of an operation, a mesh dim or a phase, or several"}
}

// having returns the rows that have name for their operation, a mesh dim or their
// phase.
func (t *CommTable) having(name string) *CommTable {
	some := &CommTable{env: t.env}
	for _, s := range t.rows {
		if s.Op == name || string(s.Phase) == name || slices.Contains(s.Dims, name) {
			some.rows = append(some.rows, s)
		}
	}
	return some
}

// sum returns the sums of all rows.
func (t *CommTable) sum() *runtime.Sum {
	all := &runtime.Sum{}
	for _, s := range t.rows {
		all.Add(s)
	}
	return all
}

// String returns the table as text.
func (t *CommTable) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "operation\tdims\tphase\tcalls\tbytes\twire_bytes\tring_bytes\tseconds\t")
	for _, s := range append(slices.Clone(t.rows), t.sum()) {
		name, dims := s.Op, strings.Join(s.Dims, ",")
		if name == "" {
			name = "total"
		} else if dims == "" {
			dims = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%.3g\t\n", name, dims, s.Phase, s.Calls, s.Bytes, s.Wire, s.Ring, s.Seconds)
	}
	w.Flush()
	return strings.TrimRight(b.String(), "\n")
}
