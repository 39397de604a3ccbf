package builtins

import (
	"time"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
)

func init() {
	Register(&Row{
		Name: "time",
		Doc: "time() returns seconds that only grow, from a beginning of the rank's own, as a float: a difference of two says how long\n" +
			"something took on this rank. Ranks have different times, so what communicates should not hang on it.\n" +
			">>> start = time()\n" +
			">>> time() >= start\nTrue",
		Fn: timeSince,
	})
}

// started is when the clock of time began.
var started = time.Now()

func timeSince(_ *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	return starlark.Float(time.Since(started).Seconds()), nil
}
