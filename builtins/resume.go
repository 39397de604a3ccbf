package builtins

import (
	"errors"
	"os"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

func init() {
	Register(&Row{
		Name: "resume_dir",
		Doc: "resume_dir() returns the path of a folder that is there for the ranks when the job is started again after a death\n" +
			"(tpsh run --max-restarts N, --elastic MIN:MAX). What a script saves there, it finds there. It is empty when the job is first started,\n" +
			"and removed in the end, unless --resume-dir DIR names one that is kept. It is one folder for all ranks of a host.\n" +
			"On several hosts each has its own, where a rank finds what ranks of that host have saved, unless --resume-dir names a folder that the\n" +
			"hosts share: a checkpoint, which all ranks write and read together, is to be in such a one.\n" +
			">>> write_text(resume_dir() + \"/step.txt\", \"7\")\n" +
			">>> attempt(read_text, resume_dir() + \"/step.txt\").value\n\"7\"",
		Fn: resumeDir,
	}, &Row{
		Name: "restarts",
		Doc: "restarts() returns how often the job was started again: because a rank had died, or on other nodes (tpsh run --elastic).\n" +
			">>> restarts()\n0",
		Fn: restarts,
	})
}

func resumeDir(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	if e.Options.Resume == "" {
		return nil, &op.ResourceError{Func: b.Name(), Err: errors.New("there is no folder that survives here")}
	}
	if err := os.MkdirAll(e.Options.Resume, 0o700); err != nil {
		return nil, &op.ResourceError{Func: b.Name(), Err: err}
	}
	return starlark.String(e.Options.Resume), nil
}

func restarts(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	return starlark.MakeInt(e.Options.Restarts), nil
}
