package lang

import (
	"context"
	"errors"
	"fmt"

	"go.starlark.net/starlark"
)

// paramsName is the global that holds the arguments of functions that are called
// once for each of several cases.
const paramsName = "PARAMS"

// callFunctions calls Before, Function and After of a program.
func (s *server) callFunctions(j *job, t *starlark.Thread, p *runMsg, globals starlark.StringDict) error {
	if _, ok := globals[p.Function]; !ok {
		return fmt.Errorf("%s defines no %s", p.Path, p.Function)
	}
	args, kwargs, err := arguments(globals, p)
	if err != nil {
		return err
	}
	err = callGlobal(t, globals, p.Before, nil, nil)
	if err == nil {
		err = callGlobal(t, globals, p.Function, args, kwargs)
	}
	var killed interface{ Killed() bool }
	if context.Cause(j.ctx) != nil || errors.As(err, &killed) && killed.Killed() {
		return err
	}
	if after := callGlobal(t, globals, p.After, nil, nil); err == nil {
		err = after
	}
	return err
}

func callGlobal(t *starlark.Thread, globals starlark.StringDict, name string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	fn, ok := globals[name]
	if !ok {
		return nil
	}
	_, err := starlark.Call(t, fn, args, kwargs)
	return err
}

// arguments returns the arguments of a function in the case that is asked for.
func arguments(globals starlark.StringDict, p *runMsg) (starlark.Tuple, []starlark.Tuple, error) {
	if p.Case == 0 {
		return nil, nil, nil
	}
	params := globals[paramsName]
	if d, ok := params.(*starlark.Dict); ok {
		params, _, _ = d.Get(starlark.String(p.Function))
	}
	list, ok := params.(starlark.Indexable)
	if !ok || p.Case > list.Len() {
		return nil, nil, fmt.Errorf("%s has no case %d for %s: want a list of cases, or a dict of such lists by the names of tests", paramsName, p.Case, p.Function)
	}
	switch v := list.Index(p.Case - 1).(type) {
	case starlark.Tuple:
		return v, nil, nil
	case *starlark.Dict:
		var kwargs []starlark.Tuple
		for _, item := range v.Items() {
			if _, ok := item[0].(starlark.String); !ok {
				return nil, nil, fmt.Errorf("%s: got the key %s, want the name of a parameter of %s", paramsName, item[0], p.Function)
			}
			kwargs = append(kwargs, item)
		}
		return nil, kwargs, nil
	default:
		return starlark.Tuple{v}, nil, nil
	}
}
