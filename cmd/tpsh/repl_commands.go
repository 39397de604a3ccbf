package main

import (
	"context"

	"tpsh/lang/repl"
)

// shellCommands are the commands of the shell that know tensors.
var shellCommands = []repl.Command{
	{Name: "viz", Usage: "X", Help: "draws which rank holds which block of a distributed tensor", Run: visualize},
	{Name: "trace", Usage: "STMT", Help: "runs a statement and lists what it communicates", Run: traceStatement},
}

func visualize(ctx context.Context, s *repl.Shell, arg string) error {
	s.ExecAs(ctx, "visualize_sharding("+arg+")", "")
	return nil
}

// traceStatement runs the statement between two that turn a trace on and print
// it. After a failure the trace is printed by the next that ends.
func traceStatement(ctx context.Context, s *repl.Shell, arg string) error {
	s.ExecAs(ctx, "_trace(True)\n"+arg+"\n_trace(False)", arg)
	return nil
}
