package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tpsh/lang"
	"tpsh/lang/repl"
)

var kernelCommand = &command{
	name:    "kernel",
	usage:   "[install | -f CONNECTION] | --pipe [-n N] [--transport T]",
	short:   "is a kernel of Jupyter, or installs it; needs the Python package",
	actions: []string{"install"},
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		k := &notebook{}
		fs.StringVar(&k.connection, "f", "", "serve Jupyter as its `FILE` of a connection says")
		fs.BoolVar(&k.pipe, "pipe", false, "speak JSON lines on standard input and output, as the Python package does")
		fs.IntVar(&k.n, "n", defaultRanks(), "with --pipe, start with `N` ranks")
		fs.StringVar(&k.transport, "transport", "inproc", transportUsage())
		k.limits.declare(fs)
		return k.run
	},
}

// A notebook is one `tpsh kernel`.
//
// With --pipe it reads requests, a line of JSON each, and writes answers: for
//
//	{"id": 1, "execute": "x = ones(2)\nx + 1"}
//
// first {"id": 1, "text": ...} for what is printed and {"id": 1, "note": ...} for what
// is said beside it, as they come, and last {"id": 1, "done": true} with value, svg (a
// list of pictures) and failure (see lang.Cause), where there are such. {"id": 2,
// "complete": "x.sh"} is answered with start and names, {"id": 3, "doc": "ones"} with
// text, as :doc has it. {"interrupt": true} ends what runs, at any time. At the end of the
// input it finishes what was asked for, and ends the ranks; where the process that started it has ended,
// it interrupts what runs.
//
// Lines of a cell that begin with a colon are commands of the shell; an answer has ranks
// where there are now others.
type notebook struct {
	shell
	connection string
	pipe       bool

	cells  *repl.Shell
	out    *lineOutput
	errors *heldOutput // what commands say of errors
	dir    string
	parent int // the process that started this one
	mu     sync.Mutex
	json   *json.Encoder
	asked  []*request // that were read and have no last answer, the one under way first
}

// A request is a line that a notebook sends.
type request struct {
	ID        int     `json:"id"`
	Execute   *string `json:"execute"`
	Complete  *string `json:"complete"`
	Doc       *string `json:"doc"`
	Interrupt bool    `json:"interrupt"`

	// ctx ends when an interrupt comes behind the request, whether it runs yet or not.
	ctx  context.Context
	stop context.CancelFunc
}

// An answer is a line that it writes.
type answer struct {
	ID      int         `json:"id"`
	Text    string      `json:"text,omitempty"`
	Note    string      `json:"note,omitempty"`
	Value   string      `json:"value,omitempty"`
	SVG     []string    `json:"svg,omitempty"`
	Failure *lang.Cause `json:"failure,omitempty"`
	Start   int         `json:"start,omitempty"`
	Names   []string    `json:"names,omitempty"`
	Ranks   int         `json:"ranks,omitempty"`
	Done    bool        `json:"done,omitempty"`
}

func (k *notebook) run(std *stdio, args []string) error {
	if !k.pipe {
		if k.connection != "" {
			args = append(args, "-f", k.connection)
		}
		return jupyter(std, args)
	}
	if len(args) > 0 {
		return usagef("kernel: got argument %q, want none with --pipe", args[0])
	}
	for _, err := range []error{checkRanks(k.n), checkTransport(k.transport), k.check(), k.checkHere()} {
		if err != nil {
			return err
		}
	}
	return k.serve(std)
}

// jupyter runs the kernel of the Python package in place of this process, as far as the
// system has that.
func jupyter(std *stdio, args []string) error {
	python := os.Getenv("TPSH_KERNEL_PYTHON")
	for _, name := range []string{"python3", "python"} {
		if python == "" {
			python, _ = exec.LookPath(name)
		}
	}
	if python == "" {
		return errors.New("kernel: no python3 on PATH: a kernel of Jupyter needs Python and the package tpsh")
	}
	signal.Ignore(os.Interrupt) // it is for the kernel, which shares the terminal
	hearsItself()
	c := exec.Command(python, append([]string{"-m", "tpsh.kernel"}, args...)...)
	c.Stdin, c.Stdout, c.Stderr = std.in, std.out, std.err
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return status(exit.ExitCode())
	}
	return err
}

// serve starts the ranks and answers requests until there are no more.
func (k *notebook) serve(std *stdio) (err error) {
	k.parent = os.Getppid()
	if k.dir, err = os.Getwd(); err != nil {
		return err
	}
	if k.pictures, err = os.MkdirTemp("", "tpsh-pictures-"); err != nil {
		return err
	}
	defer os.RemoveAll(k.pictures)
	k.json = json.NewEncoder(std.out)
	k.json.SetEscapeHTML(false)
	k.out = &lineOutput{Writer: kernelOutput{k, false}}
	k.errors = &heldOutput{Writer: kernelOutput{k, true}}
	defer atEnding(k.stop)()
	k.cells, err = repl.Cells(repl.Options{
		Ranks:    k.n,
		Start:    func(n int) ([]lang.Conn, func(), error) { return k.start(n, kernelOutput{k, true}) },
		Dir:      k.dir,
		Folders:  k.folders(),
		Out:      k.out,
		Err:      k.errors,
		Timeout:  k.timeout,
		MaxSteps: k.maxSteps,
		Doc:      docText,
		Commands: shellCommands(&k.shell),
	})
	if err != nil {
		return jobError{err}
	}
	defer k.cells.Close()
	k.answer(answer{Ranks: k.n})
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer close(interrupts) // once none comes any more, so that who hears them ends
	defer signal.Stop(interrupts)
	requests, unread := make(chan *request), make(chan error, 1)
	served := make(chan struct{})
	defer close(served)
	go func() {
		unread <- k.read(std.in, requests)
		close(requests)
		k.watchParent(served)
	}()
	go func() {
		for range interrupts {
			k.interrupt()
		}
	}()
	for req := range requests {
		k.handle(req)
		k.answered(req)
	}
	return <-unread
}

// read reads requests, to the end of the input or one that cannot be read, which ends what runs;
// interrupts it carries out at once.
func (k *notebook) read(in io.Reader, requests chan<- *request) error {
	d := json.NewDecoder(bufio.NewReader(in))
	for n := 1; ; n++ {
		req := new(request)
		switch err := d.Decode(req); {
		case err == io.EOF:
			return nil
		case err != nil:
			k.cells.Interrupt()
			return usagef("kernel: request %d: %v", n, err)
		}
		if req.Interrupt {
			k.interrupt()
			continue
		}
		req.ctx, req.stop = context.WithCancel(context.Background())
		k.mu.Lock()
		k.asked = append(k.asked, req)
		k.mu.Unlock()
		requests <- req
	}
}

// watchParent interrupts what runs if the process that started the kernel ends before all is served: nobody
// is there to do it.
func (k *notebook) watchParent(served <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-served:
			return
		case <-tick.C:
			if os.Getppid() != k.parent {
				k.interrupt()
			}
		}
	}
}

// interrupt ends the request under way, or the one that is about to be.
func (k *notebook) interrupt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.asked) > 0 {
		k.asked[0].stop()
	}
}

// answered forgets the request that was under way.
func (k *notebook) answered(req *request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	req.stop()
	k.asked = k.asked[1:]
}

func (k *notebook) answer(a answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.asked) > 0 {
		a.ID = k.asked[0].ID
	}
	_ = k.json.Encode(a) // who reads no more has closed the input, too
}

func (k *notebook) handle(req *request) {
	a, before := answer{Done: true}, k.cells.Size()
	switch {
	case req.Execute != nil:
		a.Value, a.Failure = k.execute(req.ctx, *req.Execute)
		a.SVG = k.takePictures()
	case req.Complete != nil:
		a.Start, a.Names = k.cells.Complete(req.ctx, *req.Complete)
	case req.Doc != nil:
		a.Text, _ = docText(*req.Doc) // of other names nothing is known
	}
	if n := k.cells.Size(); n != before {
		a.Ranks = n
	}
	k.answer(a)
}

// execute runs a cell, part by part, until one fails.
func (k *notebook) execute(ctx context.Context, cell string) (value string, failure *lang.Cause) {
	for _, part := range k.cells.Split(ctx, cell) {
		if ctx.Err() != nil {
			return "", notBegun()
		}
		if part.Source == "" {
			value, failure = "", k.command(ctx, part.Command)
		} else {
			value, failure = k.statements(ctx, part.Source, part.Line)
		}
		if failure != nil {
			return "", failure
		}
	}
	return value, nil
}

// notBegun is the failure of what was interrupted before it ran.
func notBegun() *lang.Cause {
	return &lang.Cause{Kind: "interrupted", Ranks: []int{}, Message: errInterrupted.Error(), Report: errInterrupted.Error() + "\n"}
}

// command carries out a command of the shell.
func (k *notebook) command(ctx context.Context, line string) *lang.Cause {
	k.out.by(true)
	report, code := k.errors.hold(func() int { return k.cells.Command(ctx, line) })
	k.out.by(false)
	if code == lang.StatusOK {
		return nil
	}
	kind := "usage"
	if code == lang.StatusInterrupted {
		kind = "interrupted"
	}
	return &lang.Cause{Kind: kind, Ranks: []int{}, Message: strings.TrimSpace(report), Report: report}
}

// statements runs statements that begin at a line of a cell: all but the last, and if
// that is an expression, it by itself, so that the cell has its value.
func (k *notebook) statements(ctx context.Context, source string, line int) (value string, failure *lang.Cause) {
	head, last := splitCell(source)
	for _, p := range []lang.Program{{Source: head, FirstLine: line}, {Source: last, FirstLine: strings.Count(head, "\n") + line}} {
		if strings.TrimSpace(p.Source) == "" {
			continue
		}
		p.Path, p.Dir, p.Folders, p.Chunk = "<cell>", k.dir, k.folders(), true
		p.Timeout, p.MaxSteps = k.timeout, k.maxSteps
		o, err := k.cells.Session().Run(ctx, p)
		if err != nil && ctx.Err() != nil {
			return "", notBegun()
		}
		if err != nil {
			return "", &lang.Cause{Kind: "died", Ranks: []int{}, Message: err.Error(), Report: fmt.Sprintf("%v\nthe ranks cannot go on; restart the kernel\n", err)}
		}
		if c, failed := o.Cause(); failed {
			return "", &c
		}
		k.cells.Keep(p)
		value = o.Values()
	}
	return value, nil
}

// splitCell returns the source of a cell before the line where its last statement
// begins, and from there on; before is "" if the cell cannot be parsed or the statement
// begins behind another.
func splitCell(cell string) (before, last string) {
	file, err := lang.Parse("<cell>", cell, 1)
	if err != nil || len(file.Stmts) < 2 {
		return "", cell
	}
	at, _ := file.Stmts[len(file.Stmts)-1].Span()
	_, end := file.Stmts[len(file.Stmts)-2].Span()
	if at.Line <= end.Line {
		return "", cell
	}
	lines := strings.SplitAfter(cell, "\n")
	return strings.Join(lines[:at.Line-1], ""), strings.Join(lines[at.Line-1:], "")
}

// takePictures returns what was drawn since it was last called.
func (k *notebook) takePictures() []string {
	paths, _ := filepath.Glob(filepath.Join(k.pictures, "*.svg")) // the pattern is right
	slices.Sort(paths)
	var all []string
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil {
			all = append(all, string(data))
		}
		os.Remove(path)
	}
	return all
}
