package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"

	tpshdap "tpsh/lang/debug/dap"
)

const dapScript = `def step(x, i):
    y = x * 2
    if rank() == 1 and i == 2:
        y = y + 1
    z = all_reduce(y)
    return z

def main():
    x = ones(2)
    table = {"a": [1, 2]}
    for i in range(4):
        x = step(x, i)
    print("done")
    return table["b"]

main()
`

// A dapClient is the client's side of a conversation.
type dapClient struct {
	t       *testing.T
	out     io.Writer
	in      *bufio.Reader
	codec   *dap.Codec
	seq     int
	events  []dap.Message // that have come and were not waited for
	printed strings.Builder
}

// newDAPClient starts the debugger, as the command does.
func newDAPClient(t *testing.T) *dapClient {
	t.Helper()
	toServer, clientOut := io.Pipe()
	clientIn, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- serveDAP(&stdio{toServer, fromServer, io.Discard}, -1)
		fromServer.Close()
	}()
	t.Cleanup(func() {
		clientOut.Close()
		clientIn.Close()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(2 * time.Minute):
			t.Error("the debugger does not end")
		}
	})
	return &dapClient{t: t, out: clientOut, in: bufio.NewReader(clientIn), codec: tpshdap.Codec()}
}

// read returns the next message.
func (e *dapClient) read() dap.Message {
	e.t.Helper()
	data, err := dap.ReadBaseMessage(e.in)
	if err != nil {
		e.t.Fatal(err)
	}
	m, err := e.codec.DecodeMessage(data)
	if err != nil {
		e.t.Fatal(err)
	}
	if o, ok := m.(*dap.OutputEvent); ok {
		if o.Body.Output == "" {
			e.t.Error("an event of output has none")
		}
		e.printed.WriteString(o.Body.Output)
	}
	return m
}

// ask sends a request and returns its answer.
func (e *dapClient) ask(command string, arguments any) dap.Message {
	e.t.Helper()
	e.seq++
	data, err := json.Marshal(map[string]any{"seq": e.seq, "type": "request", "command": command, "arguments": arguments})
	if err != nil {
		e.t.Fatal(err)
	}
	go dap.WriteBaseMessage(e.out, data)
	for {
		m := e.read()
		if r, ok := m.(dap.ResponseMessage); ok && r.GetResponse().RequestSeq == e.seq {
			return m
		}
		e.events = append(e.events, m)
	}
}

// do is ask of what must succeed.
func (e *dapClient) do(command string, arguments any) dap.Message {
	e.t.Helper()
	m := e.ask(command, arguments)
	if f, ok := m.(*dap.ErrorResponse); ok {
		e.t.Fatalf("%s: %s", command, f.Message)
	}
	return m
}

// event returns the next message that is no answer: one that came while an answer was
// awaited, or one that is yet to come.
func (e *dapClient) event() dap.Message {
	e.t.Helper()
	if len(e.events) == 0 {
		return e.read()
	}
	m := e.events[0]
	e.events = e.events[1:]
	return m
}

// stopped waits for the ranks to stop and returns why they have.
func (e *dapClient) stopped() *dap.StoppedEventBody {
	e.t.Helper()
	for {
		switch m := e.event().(type) {
		case *dap.StoppedEvent:
			return &m.Body
		case *dap.TerminatedEvent:
			e.t.Fatal("the program has ended")
		}
	}
}

// frames returns where a thread is.
func (e *dapClient) frames(thread int) (list []dap.StackFrame) {
	e.t.Helper()
	return e.do("stackTrace", map[string]any{"threadId": thread}).(*dap.StackTraceResponse).Body.StackFrames
}

func (e *dapClient) at(thread int) string {
	e.t.Helper()
	f := e.frames(thread)[0]
	return fmt.Sprintf("%s:%d in %s", f.Source.Name, f.Line, f.Name)
}

func (e *dapClient) value(thread int, expr string) string {
	e.t.Helper()
	m := e.ask("evaluate", map[string]any{"expression": expr, "frameId": e.frames(thread)[0].Id, "context": "watch"})
	if f, ok := m.(*dap.ErrorResponse); ok {
		return f.Message
	}
	return m.(*dap.EvaluateResponse).Body.Result
}

func (e *dapClient) expect(what, got, want string) {
	e.t.Helper()
	if got != want {
		e.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// launch begins a session of a script on four ranks.
func (e *dapClient) launch(script, transport string, entry bool, breaks []map[string]any) (path string) {
	e.t.Helper()
	path = filepath.Join(e.t.TempDir(), "main.star")
	if err := os.WriteFile(path, []byte(script), 0o666); err != nil {
		e.t.Fatal(err)
	}
	e.do("initialize", map[string]any{"adapterID": "tpsh"})
	e.do("launch", map[string]any{"program": path, "n": 4, "transport": transport, "stopOnEntry": entry})
	e.do("setBreakpoints", map[string]any{"source": map[string]any{"path": path}, "breakpoints": breaks})
	e.do("setExceptionBreakpoints", map[string]any{"filters": []string{"uncaught"}})
	e.do("configurationDone", nil)
	return path
}

// An editor stops four ranks at conditions and differences, steps, looks at ranks, and
// lets them go on to an error.
func TestDAP(t *testing.T) {
	for _, transport := range []string{"inproc", "frames"} {
		t.Run(transport, func(t *testing.T) {
			e := newDAPClient(t)
			path := e.launch(dapScript, transport, true, []map[string]any{{"line": 5, "condition": "differs y"}, {"line": 2, "condition": "i == 1"}})
			e.expect("reason", e.stopped().Reason, "entry")
			if n := len(e.do("threads", nil).(*dap.ThreadsResponse).Body.Threads); n != 4 {
				t.Errorf("got %d threads, want 4", n)
			}
			e.expect("entry", e.at(1), "main.star:1 in <toplevel>")
			e.do("continue", map[string]any{"threadId": 1})
			e.expect("reason", e.stopped().Reason, "breakpoint")
			for thread := 1; thread <= 4; thread++ {
				e.expect("condition", e.at(thread), "main.star:2 in step")
			}
			e.expect("i", e.value(2, "i"), "1")
			e.expect("rank", e.value(3, "rank() * 10 + i"), "21")
			e.change(3)
			e.expect("a call that communicates", e.value(3, "all_reduce(x)"), "all_reduce: what a debugger evaluates does not communicate")
			e.do("next", map[string]any{"threadId": 1})
			e.expect("reason", e.stopped().Reason, "step")
			e.expect("next", e.at(4), "main.star:3 in step")
			e.do("untilCollective", nil)
			e.expect("collective", e.stopped().Description, `about to call all_reduce(float32[2], op="sum") at `+path+":5 in step")
			e.expect("collective", e.at(1), "main.star:5 in step")
			e.do("stepOut", map[string]any{"threadId": 1})
			e.stopped()
			e.expect("out", e.at(1), "main.star:12 in main")
			e.do("continue", map[string]any{"threadId": 1})
			e.expect("difference", e.stopped().Text, "y differs\n[0,2,3] [128. 128.]  (float32[2], 8 bytes)\n[1] [129. 129.]  (float32[2], 8 bytes)\n")
			d := e.do("differences", nil).(*tpshdap.DifferencesResponse).Body.Differences
			if len(d) != 1 || d[0].Name != "y" || fmt.Sprint(d[0].Values[1].Ranks) != "[1]" {
				t.Errorf("differences: got %v, want those of y", d)
			}
			e.do("setBreakpoints", map[string]any{"source": map[string]any{"path": path}, "breakpoints": []any{}})
			e.do("continue", map[string]any{"threadId": 1})
			stop := e.stopped()
			e.expect("reason", stop.Reason, "exception")
			e.expect("error", stop.Text, `key "b" not in dict`)
			e.expect("error", e.at(stop.ThreadId), "main.star:14 in main")
			e.lookAtTable(stop.ThreadId)
			e.do("continue", map[string]any{"threadId": 1})
			e.expect("exit status", e.exit(), "1")
			if !strings.Contains(e.printed.String(), "done\n") || !strings.Contains(e.printed.String(), `Error: key "b" not in dict`) {
				t.Errorf("got the output %q", e.printed.String())
			}
		})
	}
}

// change changes the local i of a thread, there and back, by each of the requests that
// can, and finds that others cannot be.
func (e *dapClient) change(thread int) {
	e.t.Helper()
	frame := e.frames(thread)[0].Id
	scopes := e.do("scopes", map[string]any{"frameId": frame}).(*dap.ScopesResponse).Body.Scopes
	set := e.do("setVariable", map[string]any{"variablesReference": scopes[0].VariablesReference, "name": "i", "value": "i + 6"}).(*dap.SetVariableResponse)
	e.expect("set i", set.Body.Value, "7")
	e.expect("i", e.value(thread, "i"), "7")
	e.expect("of another rank", e.value(thread+1, "i"), "1")
	e.do("evaluate", map[string]any{"expression": "i = 8", "frameId": frame, "context": "repl"})
	e.expect("i", e.value(thread, "i"), "8")
	if _, ok := e.ask("setVariable", map[string]any{"variablesReference": scopes[0].VariablesReference, "name": "j", "value": "1"}).(*dap.ErrorResponse); !ok {
		e.t.Error("a variable that is not there was set")
	}
	table := e.frames(thread)[1].Id
	e.do("setExpression", map[string]any{"expression": `table["a"][1]`, "value": "5", "frameId": table})
	outer := e.do("scopes", map[string]any{"frameId": table}).(*dap.ScopesResponse).Body.Scopes
	for _, v := range e.do("variables", map[string]any{"variablesReference": outer[0].VariablesReference}).(*dap.VariablesResponse).Body.Variables {
		if v.Name == "table" {
			e.expect("table", v.Value, `{"a": [1, 5]}`)
			e.do("setVariable", map[string]any{"variablesReference": v.VariablesReference, "name": `"a"`, "value": "[1, 2]"})
		}
	}
	e.expect("i", e.do("setExpression", map[string]any{"expression": "i", "value": "1", "frameId": frame}).(*dap.SetExpressionResponse).Body.Value, "1")
}

// An editor stops where an error arises that the program catches, if it asks for that, and
// in lambdas; a breakpoint where no statement is is not verified.
func TestDAPCaught(t *testing.T) {
	e := newDAPClient(t)
	path := e.launch("def f(d):\n    return d[\"b\"]\n\nprint(attempt(f, {}).ok)\nx = [\n    lambda: 3]\nx[0]()\n", "", false, []map[string]any{{"line": 4}})
	e.stopped()
	e.do("setExceptionBreakpoints", map[string]any{"filters": []string{"uncaught", "caught"}})
	set := e.do("setBreakpoints", map[string]any{"source": map[string]any{"path": path}, "breakpoints": []map[string]any{{"line": 6}, {"line": 99}}}).(*dap.SetBreakpointsResponse)
	if b := set.Body.Breakpoints; !b[0].Verified || b[1].Verified || !strings.Contains(b[1].Message, "no statement") {
		t.Errorf("got the breakpoints %v, want the second not to be verified", b)
	}
	e.do("continue", map[string]any{"threadId": 1})
	stop := e.stopped()
	e.expect("caught", stop.Reason+" "+stop.Text, `exception key "b" not in dict`)
	e.expect("caught", e.at(stop.ThreadId), "main.star:2 in f")
	e.expect("mode", string(e.do("exceptionInfo", map[string]any{"threadId": stop.ThreadId}).(*dap.ExceptionInfoResponse).Body.BreakMode), "always")
	e.do("continue", map[string]any{"threadId": 1})
	e.expect("lambda", e.stopped().Reason, "breakpoint")
	e.expect("lambda", e.at(1), "main.star:6 in lambda")
	e.do("continue", map[string]any{"threadId": 1})
	e.expect("exit status", e.exit(), "0")
}

// lookAtTable opens the variable table.
func (e *dapClient) lookAtTable(thread int) {
	e.t.Helper()
	scopes := e.do("scopes", map[string]any{"frameId": e.frames(thread)[0].Id}).(*dap.ScopesResponse).Body.Scopes
	variables := func(ref int) map[string]dap.Variable {
		all := map[string]dap.Variable{}
		for _, v := range e.do("variables", map[string]any{"variablesReference": ref}).(*dap.VariablesResponse).Body.Variables {
			all[v.Name] = v
		}
		return all
	}
	locals := variables(scopes[0].VariablesReference)
	e.expect("table", locals["table"].Value, `{"a": [1, 2]}`)
	list := variables(locals["table"].VariablesReference)[`"a"`]
	e.expect("its item", list.Value, "[1, 2]")
	e.expect("an element", variables(list.VariablesReference)["1"].Value, "2")
	if variables(scopes[1].VariablesReference)["main"].Type != "function" {
		e.t.Error("the global main is missing")
	}
}

// exit waits for the end of the program and returns its exit status.
func (e *dapClient) exit() string {
	e.t.Helper()
	for {
		if x, ok := e.event().(*dap.ExitedEvent); ok {
			return fmt.Sprint(x.Body.ExitCode)
		}
	}
}

// A rank that waits for one that has stopped is shown where it waits; a pause stops what
// runs, and the end of the conversation ends the program.
func TestDAPWaitsAndPauses(t *testing.T) {
	e := newDAPClient(t)
	e.launch("x = rank()\ny = 2\nbarrier()\nn = 0\nwhile True:\n    n += 1\n", "", false, []map[string]any{{"line": 2, "condition": "on 2"}})
	e.stopped()
	e.expect("stopped", e.at(3), "main.star:2 in <toplevel>")
	e.expect("waiting", e.at(1), "main.star:3 in <toplevel> (waits in barrier())")
	e.expect("of a rank that waits", e.value(1, "x + y"), "2")
	for tries := 0; tries == 0 || tries < 20 && e.frames(3)[0].Line < 3; tries++ { // a busy machine may not have let it go on
		e.do("continue", map[string]any{"threadId": 3})
		time.Sleep(300 * time.Millisecond)
		e.do("pause", map[string]any{"threadId": 1})
		e.expect("reason", e.stopped().Reason, "pause")
	}
	for thread := 1; thread <= 4; thread++ { // a rank may not have left the barrier
		if line := e.frames(thread)[0].Line; line < 3 || line > 6 {
			t.Errorf("rank %d is paused at line %d", thread-1, line)
		}
	}
	if m := e.ask("evaluate", map[string]any{"expression": ":where", "context": "repl"}).(*dap.EvaluateResponse); !strings.Contains(m.Body.Result, "stopped at") {
		t.Errorf("console: got %q", m.Body.Result)
	}
	if _, ok := e.ask("restartFrame", map[string]any{"frameId": 1}).(*dap.ErrorResponse); !ok {
		t.Error("a request that is not supported has succeeded")
	}
	if _, ok := e.ask("nonsense", nil).(*dap.ErrorResponse); !ok {
		t.Error("an unknown request has succeeded")
	}
	e.do("disconnect", nil)
}

// An editor may end a program at any time: before its ranks have started, and where it
// is not debugged.
func TestDAPEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.star")
	if err := os.WriteFile(path, []byte("print(1)\nwhile True: pass\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, transport := range []string{"inproc", "shm"} {
		for _, plain := range []bool{false, true} {
			for _, runs := range []bool{false, true} {
				e := newDAPClient(t)
				e.do("initialize", map[string]any{"adapterID": "tpsh"})
				e.do("launch", map[string]any{"program": path, "n": 1, "transport": transport, "noDebug": plain})
				e.do("configurationDone", map[string]any{})
				for runs && e.printed.Len() == 0 {
					e.events = append(e.events, e.read())
				}
				e.do("disconnect", map[string]any{})
			}
		}
	}
}
