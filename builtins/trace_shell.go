package builtins

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime"
)

func init() {
	Register(&Row{Name: "_trace", Fn: shellTrace,
		Doc: "_trace(on) starts to note what the rank communicates, or ends that and prints it: the shell's :trace is made of it. comm_trace(fn) is what scripts use.\n" +
			">>> _trace(True)\n>>> _trace(False)\nnothing was communicated"})
}

func shellTrace(e *Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var on arg.Bool
	if err := arg.Unpack(b.Name(), args, kwargs, "on", &on); err != nil {
		return nil, err
	}
	t := e.shellTrace
	if t != nil {
		e.Runtime.StopTrace(t)
		e.shellTrace = nil
	}
	if on {
		e.shellTrace = e.Runtime.StartTrace()
		return starlark.None, nil
	}
	if t == nil || len(t.Records) == 0 {
		Say(thread, "nothing was communicated")
		return starlark.None, nil
	}
	Say(thread, traceTable(t.Records))
	return starlark.None, nil
}

// traceTable returns records, one a line: what, how much and where.
func traceTable(records []*runtime.Record) string {
	var s strings.Builder
	sent := 0
	for _, r := range records {
		sent += r.Wire
		what := r.DType
		if what != "object" {
			what += "[" + joinInts(r.Shape) + "]"
		}
		fmt.Fprintf(&s, "%-14s %-20s in %-12s sent %8d bytes\n", r.Op, what, r.Group, r.Wire)
	}
	fmt.Fprintf(&s, "%s, %s sent", units.Count(len(records), "call"), units.Count(sent, "byte"))
	return s.String()
}
