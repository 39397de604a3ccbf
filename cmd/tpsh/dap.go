package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"tpsh/lang/debug"
	"tpsh/lang/debug/dap"
	"tpsh/lang/halt"
)

var dapCommand = &command{
	name:  "dap",
	usage: "[--port P]",
	short: "is the debugger of an editor, by the Debug Adapter Protocol",
	files: noFiles,
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		port := fs.Int("port", -1, "listen on port `P` of this host, for one editor, and say so; 0 is for any. Without, speak on standard input and output")
		return func(std *stdio, args []string) error {
			if len(args) > 0 {
				return usagef("dap: got argument %q, want none", args[0])
			}
			if *port < -1 || *port > 65535 {
				return usagef("for flag --port: got %d, want a number from 0 to 65535", *port)
			}
			return serveDAP(std, *port)
		}
	},
}

// serveDAP speaks with one editor.
func serveDAP(std *stdio, port int) error {
	if port < 0 {
		return dap.Serve(std.in, std.out, launchDebugged)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "listening on %s\n", l.Addr())
	conn, err := l.Accept()
	l.Close()
	if err != nil {
		return err
	}
	defer conn.Close()
	return dap.Serve(conn, conn, launchDebugged)
}

// launchDebugged is `tpsh run` of what an editor wants, under its debugger.
func launchDebugged(ctx context.Context, l dap.Launch, c *debug.Controller, step halt.Step, talk func(debug.Stop), out, errs io.Writer) int {
	fs := flag.NewFlagSet("dap", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	r := &runner{flags: fs}
	r.declare(fs)
	r.stopping.until = ctx
	if !l.NoDebug {
		r.debugging = &debugging{control: c, step: step, talk: talk, whole: true}
	}
	var words []string
	if l.N != 0 {
		words = append(words, "-n", strconv.Itoa(l.N))
	}
	if l.Transport != "" {
		words = append(words, "--transport", l.Transport)
	}
	err := fs.Parse(words)
	if err == nil {
		args := []string{l.Program}
		if len(l.Args) > 0 {
			args = append(append(args, "--"), l.Args...)
		}
		err = r.run(&stdio{strings.NewReader(""), out, errs}, args)
	}
	if err != nil && !errors.As(err, new(status)) {
		fmt.Fprintf(errs, "tpsh: %v\n", err)
	}
	return exitStatus(err)
}
