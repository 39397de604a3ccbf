package lang

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/lang/operator"
)

// library holds the modules and functions of Starlark's own library that
// every program has. Its values are immutable.
var library = starlark.StringDict{
	"json":   json.Module,
	"math":   operator.Math,
	"struct": starlark.NewBuiltin("struct", starlarkstruct.Make),
	"module": starlark.NewBuiltin("module", starlarkstruct.MakeModule),
}

// predeclared returns the names that a program can use.
func (s *server) predeclared() starlark.StringDict { return WithLibrary(s.env.Predeclared()) }

// WithLibrary adds to the names of an Env those that every program has besides.
func WithLibrary(names starlark.StringDict) starlark.StringDict {
	for _, more := range []starlark.StringDict{library, operator.Library} {
		for name, v := range more {
			if names[name] == nil {
				names[name] = v
			}
		}
	}
	names[moduleName] = starlark.String("__main__")
	return names
}

// moduleName is "__main__" in a script, and in a file that is loaded, or whose
// tests are run, its name without the ending.
const moduleName = "__name__"

// namedAs returns names for a file that is not the script.
func namedAs(file string, names starlark.StringDict) starlark.StringDict {
	names = maps.Clone(names)
	names[moduleName] = starlark.String(strings.TrimSuffix(filepath.Base(file), ".star"))
	return names
}

// newThread returns a thread for a run, with env attached. The end of the job's context
// cancels it, until release is called.
func (s *server) newThread(j *job, p *runMsg, out *recorder, predeclared starlark.StringDict) (t *starlark.Thread, release func()) {
	modules := newLoader(string(p.Path), string(p.Dir), Folders{Lib: fromTexts(p.Lib), Allow: fromTexts(p.Allow)})
	modules.predeclared, modules.halts = predeclared, s.halts
	t = &starlark.Thread{
		Name:  fmt.Sprintf("rank %d", s.rank),
		Print: out.print,
		Load:  modules.load,
	}
	t.SetLocal(ScriptDir, string(p.Dir))
	t.SetLocal(TestKey, p.Function != "")
	t.SetLocal(operator.RoomKey, s.watch.admit)
	t.SetLocal(operator.GrowthKey, s.watch.admitGrowth)
	l := &limits{job: j, steps: p.MaxSteps, halts: s.halts, watch: s.watch}
	s.halts.begin(t, j, out, p.Debug, predeclared)
	t.OnMaxSteps = l.check
	l.arm(t)
	s.env.Attach(t, out)
	stop := context.AfterFunc(j.ctx, func() { t.Cancel(context.Cause(j.ctx).Error()) })
	unwatch := s.watch.begin(s, j, t)
	return t, func() {
		stop()
		unwatch()
		s.halts.end()
	}
}

// maxDepth is how deeply calls may nest. The interpreter's own limit is ten
// times as high, and takes 400 MB of stack.
const maxDepth = 10_000

// checkEvery is the number of steps between looks at the limits. It takes
// several steps to go one call deeper.
const checkEvery = 1000

// limits are the steps and the memory that a thread may use.
type limits struct {
	job   *job
	steps uint64 // of the interpreter; 0 for any number
	halts *halts
	watch *Watch
	next  uint64 // when to look again
	ahead uint64 // when to look ahead again
}

// check is the OnMaxSteps function of a thread. The end of the steps ends the
// job. A call too deep is the script's mistake, which a handler may catch.
func (l *limits) check(t *starlark.Thread) {
	if l.halts.at(t) && t.Steps < l.next {
		return
	}
	if l.steps > 0 && t.Steps >= l.steps {
		err := &stopError{Reason: stopLimit, Text: fmt.Sprintf("more than %d steps (--max-steps)", l.steps)}
		l.job.cancel(err)
		t.Cancel(err.Text)
		return
	}
	if t.CallStackDepth() > maxDepth {
		t.Cancel(fmt.Sprintf("stack overflow: more than %d calls deep (recursion without an end?)", maxDepth))
	}
	if l.watch.crowded() {
		l.watch.awaitCollection()
		if t.Steps >= l.ahead {
			l.ahead = t.Steps + aheadEvery
			l.watch.lookAhead(t)
		}
	}
	l.arm(t)
}

// arm sets the number of steps after which the thread is checked next.
func (l *limits) arm(t *starlark.Thread) {
	l.next = t.Steps + checkEvery
	if l.steps > 0 {
		l.next = min(l.next, l.steps)
	}
	if l.halts.watching() {
		t.SetMaxExecutionSteps(1) // before every instruction
		return
	}
	t.SetMaxExecutionSteps(l.next)
}
