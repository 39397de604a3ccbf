// Package debug lets a user stop the ranks of a session, look at them and let them go
// on: the part that the shell, the command debug and the protocol of editors have in common.
//
// A Controller is the lang.Debugger of a session. When a rank has stopped, it lets
// the others come to where they stop or wait, stops those that run on, and then says
// in one Stop where all of them are. Each stays so until Go.
//
//   - A rank is halted (it stands at a line), waiting (in a call, for others), running
//     (in a long step of the interpreter) or over.
//   - Breakpoints belong to the Controller; a rank is told those that are for it.
//   - Values of several ranks are compared by their digests, and shown once where
//     they are the same.
//
// A Prompt is the same by lines of text:
//
//	c := debug.New()
//	s := lang.NewSession(conns, lang.Options{Debugger: c})
//	p := &debug.Prompt{C: c, Read: readLine, Out: os.Stdout}
//	c.Drive(s, nil, halt.In, func() { outcome, err = s.Run(ctx, program) }, p.Talk)
package debug
