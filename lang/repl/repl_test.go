package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.starlark.net/starlark"
	"go.uber.org/goleak"

	"tpsh/lang"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fakeRank is the world of one rank: it knows its number and can hang.
type fakeRank struct {
	rank, size int
	ctx        context.Context
	hanging    func() // called when hang() begins
}

func (f *fakeRank) Rank() (int, int)                     { return f.rank, f.size }
func (f *fakeRank) Attach(*starlark.Thread, lang.Output) {}
func (f *fakeRank) Pending() error                       { return nil }
func (f *fakeRank) Begin(ctx context.Context)            { f.ctx = ctx }
func (f *fakeRank) End(error) error                      { return nil }
func (f *fakeRank) Describe(starlark.Value) string       { return "" }

func (f *fakeRank) Predeclared() starlark.StringDict {
	type builtin = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)
	var rank, hang builtin
	rank = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return starlark.MakeInt(f.rank), nil
	}
	hang = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		f.hanging()
		<-f.ctx.Done()
		return nil, context.Cause(f.ctx)
	}
	return starlark.StringDict{"rank": starlark.NewBuiltin("rank", rank), "hang": starlark.NewBuiltin("hang", hang)}
}

// starter returns a Start function, and interrupts when all ranks hang.
func starter(interrupts chan<- os.Signal) func(int) ([]lang.Conn, func(), error) {
	return func(n int) ([]lang.Conn, func(), error) {
		if n > 16 {
			return nil, nil, errors.New("too many")
		}
		var ranks sync.WaitGroup
		var hanging atomic.Int32
		conns := make([]lang.Conn, n)
		for i := range n {
			front, back := lang.Pipe()
			conns[i] = front
			env := &fakeRank{rank: i, size: n, hanging: func() {
				if hanging.Add(1) == int32(n) {
					interrupts <- os.Interrupt
				}
			}}
			ranks.Go(func() {
				defer back.Close()
				lang.Serve(context.Background(), back, env)
			})
		}
		return conns, ranks.Wait, nil
	}
}

// A script is a Reader that types given lines.
type script struct {
	lines       []string // "^C" is an interrupt
	interactive bool
	echo        io.Writer // gets prompts and lines; may be nil
}

func (s *script) ReadLine(prompt string) (string, error) {
	if len(s.lines) == 0 {
		return "", io.EOF
	}
	line := s.lines[0]
	s.lines = s.lines[1:]
	if s.echo != nil {
		fmt.Fprintf(s.echo, "%s%s\n", prompt, line)
	}
	if line == "^C" {
		return "", ErrInterrupt
	}
	return line, nil
}

func (s *script) Interactive() bool { return s.interactive }
func (s *script) Close() error      { return nil }

// options returns the options of a shell on four ranks in a folder of the test.
func options(t *testing.T, out io.Writer) Options {
	interrupts := make(chan os.Signal, 1)
	return Options{
		Ranks: 4, Start: starter(interrupts), Dir: t.TempDir(),
		Out: out, Err: out, Interrupts: interrupts,
	}
}

// transcript runs a shell in which somebody types the lines, and returns all
// that stands on the screen.
func transcript(t *testing.T, opts Options, lines string) string {
	t.Helper()
	screen := opts.Out.(*bytes.Buffer)
	screen.Reset()
	in := &script{lines: strings.Split(strings.Trim(lines, "\n"), "\n"), interactive: true, echo: screen}
	opts.Input = func(Completer) (Reader, error) { return in, nil }
	if status := Run(context.Background(), opts); status != 0 {
		t.Errorf("status: got %d, want 0", status)
	}
	return screen.String()
}

func TestTranscripts(t *testing.T) {
	tests := []struct{ name, want string }{
		{"values", `
4 ranks; :help lists the commands, Ctrl-D ends
tpsh[4]> 1 + 1
2
tpsh[4]> rank() % 2
[0,2] 0
[1,3] 1
tpsh[4]> _ + 10
[0,2] 10
[1,3] 11
tpsh[4]> None
tpsh[4]> 1 if rank() else None
[1,2,3] 1
tpsh[4]> x = "text"; x
"text"
tpsh[4]> x
"text"
tpsh[4]> print("rank", rank() // 2)
[0,1] rank 0
[2,3] rank 1
`},
		{"blocks", `
4 ranks; :help lists the commands, Ctrl-D ends
tpsh[4]> def f(x):
...     y = x * 2
... 
tpsh[4]> def g(x):
...     # a comment
...     if x:
...         return f(x)
...     else:
...         return 0
... print(g(0))
0
tpsh[4]> for i in range(2): print(i)
... 
0
1
tpsh[4]> y = [1,
...   2]
tpsh[4]> y
[1, 2]
tpsh[4]> 
tpsh[4]> # a comment
tpsh[4]> 3
3
`},
		{"errors", `
4 ranks; :help lists the commands, Ctrl-D ends
tpsh[4]> x = (1
... y
<stdin>:2:1: between two elements stands a comma, and behind the last ")": here is the name y (the ( of line 1, column 5 is still open)
tpsh[4]> lenn([])
<stdin>:3:1: undefined: lenn (did you mean len?)
tpsh[4]> def f(): return 1 // 0
... 
tpsh[4]> f() if rank() == 2 else 5
[0,1,3] 5
rank 2 of 4:
Traceback (most recent call last):
  <stdin>:6:2: in <toplevel>
  <stdin>:4:19: in f
Error: floored division by zero
ranks 0,1,3: finished
tpsh[4]> 6
6
`},
		{"interrupts", `
4 ranks; :help lists the commands, Ctrl-D ends
tpsh[4]> hang()
interrupted
ranks 0-3: stopped in hang at <stdin>:1:5
tpsh[4]> x = (1,
... ^C
tpsh[4]> ^C
tpsh[4]> 7
7
`},
		{"commands", `
4 ranks; :help lists the commands, Ctrl-D ends
tpsh[4]> :rank 2 rank() * 10
20
tpsh[4]> :rank 2 print("here")
[2] here
tpsh[4]> :rank 4 1
:rank: got rank 4, want one from 0 to 3
tpsh[4]> :rank 1
:rank: want :rank R EXPR
tpsh[4]> a = 1; b = "x" * (1 + rank() % 2); d = {"k": [1]}
tpsh[4]> :who
a  int 1
b  [0,2] string "x"
b  [1,3] string "xx"
d  dict {"k": [1]}
tpsh[4]> :ranks 2
2 ranks, no variables
tpsh[2]> :who
tpsh[2]> a
<stdin>:9:1: undefined: a
tpsh[2]> :ranks 0
:ranks: got 0 ranks, want at least 1
tpsh[2]> :ranks many
:ranks: got many, want a number of ranks
tpsh[2]> :ranks 99
:ranks: cannot start 99 ranks: too many
tpsh[2]> rank()
[0] 0
[1] 1
tpsh[2]> :ranks
:ranks: want :ranks N
tpsh[2]> :who is
:who: want :who
tpsh[2]> :nonsense
:nonsense: unknown command; :help lists them
tpsh[2]> :doc zeros
zeros(shape): a tensor of zeros
tpsh[2]> :doc nothing
:doc: nothing is known of nothing
tpsh[2]> :twice 21
42
tpsh[2]> :quit
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var screen bytes.Buffer
			opts := options(t, &screen)
			opts.Doc = func(name string) (string, error) {
				if name != "zeros" {
					return "", errors.New("nothing is known of " + name)
				}
				return name + "(shape): a tensor of zeros\n", nil
			}
			opts.Commands = []Command{{Name: "twice", Usage: "X", Help: "doubles", Run: func(ctx context.Context, s *Shell, arg string) error {
				s.Exec(ctx, arg+" * 2")
				return nil
			}}}
			want := strings.TrimPrefix(test.want, "\n")
			if got := transcript(t, opts, typed(want)); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// typed returns the lines of a transcript that were typed.
func typed(transcript string) string {
	var lines []string
	for line := range strings.Lines(transcript) {
		if _, rest, ok := strings.Cut(line, "]> "); ok && strings.HasPrefix(line, "tpsh[") {
			lines = append(lines, strings.TrimSuffix(rest, "\n"))
		} else if rest, ok := strings.CutPrefix(line, continuation); ok {
			lines = append(lines, strings.TrimSuffix(rest, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

func TestHelp(t *testing.T) {
	var screen bytes.Buffer
	got := transcript(t, options(t, &screen), ":help")
	for _, want := range []string{":rank R EXPR                  evaluates an expression on one rank\n", ":quit "} {
		if !strings.Contains(got, want) {
			t.Errorf("got:\n%s\nwant it to contain %q", got, want)
		}
	}
}

func TestTime(t *testing.T) {
	var screen bytes.Buffer
	got := transcript(t, options(t, &screen), ":time 1 + 1")
	if !regexp.MustCompile(`\n2\ntook [0-9.]+[µm]?s\n$`).MatchString(got) {
		t.Errorf("got:\n%s\nwant 2 and a time", got)
	}
}

func TestLoadAndSave(t *testing.T) {
	var screen bytes.Buffer
	opts := options(t, &screen)
	write := func(name, text string) {
		path := filepath.Join(opts.Dir, name)
		os.MkdirAll(filepath.Dir(path), 0o777)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("lib/main.star", "load('other.star', 'o')\ndef f(): return g() + o\ndef g(): return 1\n")
	write("lib/other.star", "o = 10\n")
	write("bad.star", "x = 1\nx.y\n")
	got := transcript(t, opts, `
:load lib/main.star
f()
def g(): return 2

f()
lost
load("lib/other.star", "o")
o
:load bad.star
:load nope.star
:save out.star
:save lib/other.star
:save out.star
`)
	for _, want := range []string{
		"f()\n11\n", "f()\n12\n", "> o\n10\n",
		"  bad.star:2:2: in <toplevel>\nError: int has no .y field or method\n",
		":load: read ", "no such file or directory\n",
		"6 statements written to out.star\n",
		":save: lib/other.star exists\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got:\n%s\nwant it to contain %q", got, want)
		}
	}
	saved, err := os.ReadFile(filepath.Join(opts.Dir, "out.star"))
	want := "#!/usr/bin/env -S tpsh run -n 4\nload('other.star', 'o')\ndef f(): return g() + o\ndef g(): return 1\nprint(f())\ndef g(): return 2\nprint(f())\nload(\"lib/other.star\", \"o\")\nprint(o)\n"
	if err != nil || string(saved) != want {
		t.Errorf("saved: got %q, %v, want %q", saved, err, want)
	}
}

// Of what commands run only what was typed is saved, and a byte order mark is
// not there.
func TestSavedIsWhatWasTyped(t *testing.T) {
	var screen bytes.Buffer
	opts := options(t, &screen)
	opts.Commands = []Command{{Name: "twice", Usage: "X", Run: func(ctx context.Context, s *Shell, arg string) error {
		s.ExecAs(ctx, arg+"\n"+arg, arg)
		s.ExecAs(ctx, "print(1)", "")
		return nil
	}}}
	got := transcript(t, opts, "\ufeffx = 1\n:time x += 1\n:twice x += 2\n:rank 0 x\n:save out.star\nx\n")
	if !strings.Contains(got, "3 statements written") || !strings.Contains(got, "> x\n6\n") {
		t.Errorf("got:\n%s", got)
	}
	saved, err := os.ReadFile(filepath.Join(opts.Dir, "out.star"))
	if want := "#!/usr/bin/env -S tpsh run -n 4\nx = 1\nx += 1\nx += 2\n"; err != nil || string(saved) != want {
		t.Errorf("saved: got %q, %v, want %q", saved, err, want)
	}
}

// Input that is no terminal is read without prompts; blocks need no blank
// line after them, not even at the end.
func TestPlainInput(t *testing.T) {
	tests := []struct {
		in, want string
		status   int
	}{
		{"x = 1\ndef f():\n    return x\nprint(f())\nif x:\n  print(2)", "1\n2\n", 0},
		{"def f():\n    # why\n\n    return 1\n# between\nf()", "1\n", 0},
		{"if not 1:\n    2\n# else\nelif 2:\n    print(3)\n\nelse:\n    4\n5", "3\n5\n", 0},
		{"x = \"\"\"\n# no comment\n\n\"\"\"\nx", "\"\\n# no comment\\n\\n\"\n", 0},
		{"x = [1,\n\n2]; y = 3\nx", "[1, 2]\n", 0},
		{"def f():\n", "", 1},
		{"def f():\n2\n3", "3\n", 1},
		{"  1\n2", "2\n", 1},
		{"fail('a')\n7\n", "7\n", 1},
		{"hang()\n7\n", "", 130},
		{"x = (1", "", 1},
		{":quit\n7\n", "", 0},
		{":nonsense\n", "", 1},
		{"1\r\n2\r\n", "1\n2\n", 0},
		{"", "", 0},
	}
	for _, test := range tests {
		var out, err bytes.Buffer
		opts := options(t, &out)
		opts.Err = &err
		opts.Input = Plain(strings.NewReader(test.in))
		status := Run(t.Context(), opts)
		if out.String() != test.want || status != test.status {
			t.Errorf("%q: got %q and status %d (%s), want %q and %d", test.in, out.String(), status, &err, test.want, test.status)
		}
	}
}

// A context that ends interrupts what runs, and ends the shell.
func TestContextEndsShell(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	opts := options(t, &out)
	interrupts := make(chan os.Signal, 1)
	opts.Start = starter(interrupts)
	go func() {
		<-interrupts
		cancel()
	}()
	opts.Input = Plain(strings.NewReader("hang()\n7\n"))
	if status := Run(ctx, opts); status != lang.StatusInterrupted {
		t.Errorf("got status %d, want %d", status, lang.StatusInterrupted)
	}
	if strings.Contains(out.String(), "7") {
		t.Errorf("got %q, want nothing after the interrupt", out.String())
	}
}

func TestRanksThatCannotStart(t *testing.T) {
	var out bytes.Buffer
	opts := options(t, &out)
	opts.Ranks = 99
	if status := Run(t.Context(), opts); status != lang.StatusJob || out.String() != "cannot start 99 ranks: too many\n" {
		t.Errorf("got status %d and %q", status, out.String())
	}
}

// checkRun returns a command's Run that calls f.
func checkRun(f func()) func(context.Context, *Shell, string) error {
	return func(context.Context, *Shell, string) error {
		f()
		return nil
	}
}
