package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
)

func init() {
	Register(&Row{
		Name: "should_stop",
		Doc: "should_stop() returns whether the job was asked to end soon, as a scheduler asks some time before it ends a job: by SIGTERM or SIGUSR1\n" +
			"to tpsh, or on several hosts to any of its launchers. The answer is that of rank 0 at this moment, the same on all ranks; all\n" +
			"call it, as each step of a training loop does, and are sent one byte. A script that calls it ends by itself: it saves, and\n" +
			"leaves its loop. Another such signal, a second or more later, ends it at once, as the first does where no script calls this.\n" +
			">>> should_stop()\nFalse",
		Fn: shouldStop,
	})
}

func shouldStop(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	mine := []byte{0}
	if e.askedToStop.Load() {
		mine[0] = 1
	}
	first, err := e.Runtime.BroadcastObject(e.Runtime.World(), mine, nil, 0)
	if err != nil {
		return nil, err
	}
	return starlark.Bool(len(first) == 1 && first[0] == 1), nil
}
