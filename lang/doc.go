// Package lang runs Starlark programs on ranks. It knows programs, modules,
// threads, output and errors, and nothing of tensors: the names that a program can use
// come from an Env, which may be as small as three functions.
//
// Terms:
//
//   - A rank is one of size participants that run the same program, each in a
//     Starlark thread and with globals of its own.
//   - A front end (the commands run and test, the shell) owns a Session. It
//     talks to each rank through a Conn, only by messages that could cross a
//     process boundary.
//   - A rank answers with Serve, which runs the programs it is sent.
//   - A section is the output between two operations that join all ranks. It
//     is merged from all of them and written when it closes.
//   - An Outcome says how a program ended on every rank, and reports it.
//
// A program of two ranks, in one process:
//
//	front0, rank0 := lang.Pipe()
//	front1, rank1 := lang.Pipe()
//	go lang.Serve(ctx, rank0, env0)
//	go lang.Serve(ctx, rank1, env1)
//
//	s := lang.NewSession([]lang.Conn{front0, front1}, lang.Options{Out: os.Stdout})
//	defer s.Close()
//	prog, err := lang.ReadProgram("train.star")
//	...
//	outcome, err := s.Run(ctx, prog)
//	...
//	outcome.Report(os.Stderr)
//	os.Exit(outcome.ExitStatus())
//
// # Thread locals
//
// Every thread that a program runs on holds
//
//   - ScriptDir ("tpsh.script_dir"), a string: the absolute path of the folder
//     of the script, to which paths in scripts are relative and above which no
//     load reaches.
//   - TestKey ("tpsh.test"), a bool: whether a function of the program is called, as
//     in a test.
//
// # Errors
//
// Lang knows no one's error types, but reads from any error in a chain, by
// errors.As, the methods
//
//	Kind() string      // argument, mismatch, deadlock, peer, assertion, fail, other
//	Ranks() []int      // the ranks concerned
//	Function() string  // the function whose error it is
//	Killed() bool      // the rank was ended on purpose, as a death would
//	Skipped() bool     // the program asked to be skipped, as a test may
//
// An error without Kind is of kind "other", or "fail" if the function fail
// raised it.
package lang
