package builtins

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/internal/spell"
	"tpsh/runtime"
	"tpsh/runtime/op"
)

// communicating returns the operations that faults can strike, ascending.
var communicating = sync.OnceValue(func() []string {
	list := []string{"exchange"} // of a redistribution that is none of the others
	for _, r := range rows {
		if r.Communicates {
			list = append(list, r.Name)
		}
	}
	slices.Sort(list)
	return list
})

const docAt = "at names the call: \"all_reduce#3\" is that rank's third all_reduce since the start of the run or test.\n" +
	"Every rank may call it; only the named one acts.\n"

func init() {
	Register(&Row{
		Name: "faults.kill",
		Doc: "kill(rank, at) ends a rank, as a death would, when it makes a call. It cannot catch that.\n" + docAt +
			">>> faults.kill(0, at=\"all_reduce#1000000\")",
		Fn: kill,
	}, &Row{
		Name: "faults.delay",
		Doc: "delay(rank, at, ms) lets a rank wait for so many milliseconds before it makes a call.\n" + docAt +
			">>> faults.delay(0, at=\"barrier#1\", ms=1)\n>>> barrier()",
		Fn: delay,
	})
}

func kill(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		rank arg.Int
		at   arg.String
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "rank", &rank, "at", &at); err != nil {
		return nil, err
	}
	name, n, err := faultAt(e, b.Name(), int(rank), string(at))
	if err == nil && runtime.Asked(e.Runtime, func(r int) bool { return r == int(rank) }) {
		e.Runtime.Kill(name, n)
	}
	return starlark.None, err
}

func delay(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		rank arg.Int
		at   arg.String
		ms   arg.Float
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "rank", &rank, "at", &at, "ms", &ms); err != nil {
		return nil, err
	}
	name, n, err := faultAt(e, b.Name(), int(rank), string(at))
	if err != nil {
		return nil, err
	}
	const most = float64(24 * time.Hour / time.Millisecond)
	if !(ms >= 0 && float64(ms) <= most) {
		got := strconv.FormatFloat(float64(ms), 'g', -1, 64)
		return nil, &op.ArgError{Func: b.Name(), Param: "ms", Got: got, Want: fmt.Sprintf("0..%.0f", most), Rule: "milliseconds, up to a day"}
	}
	if runtime.Asked(e.Runtime, func(r int) bool { return r == int(rank) }) {
		e.Runtime.Delay(name, n, time.Duration(math.Round(float64(ms)*float64(time.Millisecond))))
	}
	return starlark.None, nil
}

// faultAt takes at apart, an argument of fn beside rank: "all_reduce#3" is
// the operation all_reduce and the call 3.
func faultAt(e *Env, fn string, rank int, at string) (name string, n int, err error) {
	if rank < 0 || rank >= e.Runtime.Size() {
		bad := &op.ArgError{Func: fn, Param: "rank", Got: fmt.Sprint(rank), Want: fmt.Sprintf("0..%d", e.Runtime.Size()-1)}
		if rank < 0 {
			return "", 0, bad
		}
		return "", 0, &absentRankError{bad}
	}
	bad := &op.ArgError{Func: fn, Param: "at", Got: arg.Show(starlark.String(at)), Want: `an operation and the number of the call: "all_reduce#3"`}
	name, number, ok := strings.Cut(at, "#")
	if !ok {
		return "", 0, bad
	}
	if !slices.Contains(communicating(), name) {
		bad.Rule = fmt.Sprintf("%s is no operation that communicates", name)
		if near := spell.Nearest(name, communicating()); near != "" {
			bad.Rule = fmt.Sprintf("did you mean %s?", near)
		}
		return "", 0, bad
	}
	n, err = strconv.Atoi(number)
	if err != nil || n < 1 {
		bad.Rule = "calls are counted from 1"
		return "", 0, bad
	}
	return name, n, nil
}
