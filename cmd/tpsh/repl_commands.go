package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"tpsh/lang"
	"tpsh/lang/repl"
	"tpsh/runtime"
	"tpsh/runtime/plan"
)

// shellCommands returns the commands of a shell that know tensors.
func shellCommands(s *shell) []repl.Command {
	return []repl.Command{
		{Name: "viz", Usage: "X", Help: "draws which rank holds which block of a distributed tensor", Run: visualize},
		{Name: "trace", Usage: "STMT", Help: "runs a statement and lists what it communicates", Run: traceStatement},
		{Name: "report", Usage: "[FILE]", Help: "opens a page about the session: timeline, bytes, memory, sharding; or writes it to FILE", Run: s.report, Complete: repl.CompleteFile},
		{Name: "plan", Usage: "STMT", Help: "says what a statement would cost here, without running it", Run: s.planStatement},
	}
}

func visualize(ctx context.Context, s *repl.Shell, arg string) error {
	s.ExecAs(ctx, "visualize_sharding("+arg+")", "")
	return nil
}

// traceStatement runs the statement between two that turn a trace on and print
// it, however the statement ends.
func traceStatement(ctx context.Context, s *repl.Shell, arg string) error {
	if s.ExecAs(ctx, "_trace(True)", "") {
		s.ExecUnseen(ctx, arg)
		s.ExecAs(ctx, "_trace(False)", "")
	}
	return nil
}

// report writes the page of the session, and opens it if it is given no file.
func (s *shell) report(_ context.Context, sh *repl.Shell, path string) error {
	named := path != ""
	if !named {
		f, err := os.CreateTemp("", "tpsh-session-*.html")
		if err != nil {
			return err
		}
		f.Close()
		path = f.Name()
	}
	if err := s.tracing.writePage(path); err != nil {
		return err
	}
	opened := !named && browse(path) == nil
	words := "the page of the session is in %s\n"
	if opened {
		words = "the page of the session opens: %s\n"
	}
	_, err := fmt.Fprintf(sh.Out(), words, path)
	return err
}

// planStatement plays a statement on shapes alone, on ranks that have done on shapes
// what those of the shell have done, and shows what it costs on this machine.
func (s *shell) planStatement(ctx context.Context, sh *repl.Shell, arg string) error {
	m, err := loadMachine(hereName)
	if err != nil {
		return err
	}
	program := plan.NewProgram(sh.Size())
	st := &starter{limits: &s.limits, ranks: sh.Size(), transport: "inproc", args: s.args, plan: program}
	recorders := make([]*plan.Recorder, sh.Size())
	st.seen = func(r *runtime.Rank) { recorders[r.ID()] = r.Recorder() }
	ranks, err := st.startHere()
	if err != nil {
		return err
	}
	session := lang.NewSession(ranks.conns, lang.Options{Out: io.Discard})
	err = playStatement(ctx, session, sh, arg)
	session.Close()
	ranks.stop()
	if err != nil {
		return err
	}
	for rank, r := range recorders {
		program.Add(r, []int32{int32(rank)})
	}
	program.Merge()
	f := program.Play(m)
	f.Without = program.Without(m)
	return showFigures(sh.Out(), m, f)
}

// playStatement runs what a shell has run, and then a statement as a step of its own.
func playStatement(ctx context.Context, session *lang.Session, sh *repl.Shell, arg string) error {
	for _, p := range append(sh.History(), sh.Program("mark_step()"), sh.Program(arg), sh.Program("mark_step()")) {
		p.Chunk = true
		o, err := session.Run(ctx, p)
		if err != nil {
			return err
		}
		if err := failed(o); err != nil {
			return err
		}
	}
	return nil
}
