package dap

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/go-dap"

	"tpsh/lang"
	"tpsh/lang/debug"
	"tpsh/lang/halt"
)

// handle carries out a request.
func (s *server) handle(m dap.RequestMessage) {
	r := m.GetRequest()
	answer, err := s.answer(m)
	if err != nil {
		s.fail(r, err)
		return
	}
	s.send(answer)
	switch m := m.(type) {
	case *dap.InitializeRequest:
		s.send(&dap.InitializedEvent{Event: event("initialized")})
	case *dap.LaunchRequest, *dap.ConfigurationDoneRequest:
		s.begin()
	case *dap.ContinueRequest:
		s.control.Go(halt.Go, ranksOf(m.Arguments.ThreadId, m.Arguments.SingleThread))
	case *dap.NextRequest:
		s.control.Go(halt.Next, ranksOf(m.Arguments.ThreadId, m.Arguments.SingleThread))
	case *dap.StepInRequest:
		s.control.Go(halt.In, ranksOf(m.Arguments.ThreadId, m.Arguments.SingleThread))
	case *dap.StepOutRequest:
		s.control.Go(halt.Out, ranksOf(m.Arguments.ThreadId, m.Arguments.SingleThread))
	case *customRequest:
		if r.Command == "untilCollective" {
			s.control.Go(halt.Collective, nil)
		}
	case *dap.PauseRequest:
		s.control.Pause()
	case *dap.TerminateRequest:
		s.end()
	case *dap.DisconnectRequest:
		s.over = true
	}
}

// ranksOf returns the ranks that are to go on: one, or nil for all.
func ranksOf(thread int, single bool) []int {
	if single {
		return []int{thread - 1}
	}
	return nil
}

// answer returns the answer to a request, of which the messages that have to come after it are for
// handle.
func (s *server) answer(m dap.RequestMessage) (dap.Message, error) {
	to := response(m.GetRequest())
	switch m := m.(type) {
	case *dap.InitializeRequest:
		return &dap.InitializeResponse{Response: to, Body: dap.Capabilities{
			SupportsConfigurationDoneRequest: true, SupportsConditionalBreakpoints: true, SupportsEvaluateForHovers: true, SupportsTerminateRequest: true,
			SupportsExceptionInfoRequest: true, SupportsSingleThreadExecutionRequests: true, SupportsSetVariable: true, SupportsSetExpression: true,
			ExceptionBreakpointFilters: []dap.ExceptionBreakpointsFilter{
				{Filter: "uncaught", Label: "Errors that end the program", Default: true},
				{Filter: "caught", Label: "Errors that the program catches"},
			},
		}}, nil
	case *dap.LaunchRequest:
		return &dap.LaunchResponse{Response: to}, s.take(m.Arguments)
	case *dap.ConfigurationDoneRequest:
		s.ready = true
		return &dap.ConfigurationDoneResponse{Response: to}, nil
	case *dap.SetBreakpointsRequest:
		return s.setBreaks(to, &m.Arguments), nil
	case *dap.SetFunctionBreakpointsRequest:
		return &dap.SetFunctionBreakpointsResponse{Response: to}, nil
	case *dap.SetExceptionBreakpointsRequest:
		s.control.StopAtErrors(slices.Contains(m.Arguments.Filters, "uncaught"))
		s.control.StopAtCaught(slices.Contains(m.Arguments.Filters, "caught"))
		return &dap.SetExceptionBreakpointsResponse{Response: to}, nil
	case *dap.ThreadsRequest:
		return s.threads(to), nil
	case *dap.StackTraceRequest:
		return s.stack(to, &m.Arguments)
	case *dap.ScopesRequest:
		return s.scopes(to, m.Arguments.FrameId), nil
	case *dap.VariablesRequest:
		return s.variables(to, m.Arguments.VariablesReference)
	case *dap.EvaluateRequest:
		return s.evaluate(to, &m.Arguments)
	case *dap.ExceptionInfoRequest:
		mode := dap.ExceptionBreakMode("unhandled")
		if s.stopped().Reason == lang.AtCaught {
			mode = "always"
		}
		return &dap.ExceptionInfoResponse{Response: to, Body: dap.ExceptionInfoResponseBody{ExceptionId: "error", Description: s.stopped().Text, BreakMode: mode}}, nil
	case *dap.SetVariableRequest:
		return s.setVariable(to, &m.Arguments)
	case *dap.SetExpressionRequest:
		return s.setExpression(to, &m.Arguments)
	case *dap.ContinueRequest:
		return &dap.ContinueResponse{Response: to, Body: dap.ContinueResponseBody{AllThreadsContinued: !m.Arguments.SingleThread}}, nil
	case *dap.NextRequest:
		return &dap.NextResponse{Response: to}, nil
	case *dap.StepInRequest:
		return &dap.StepInResponse{Response: to}, nil
	case *dap.StepOutRequest:
		return &dap.StepOutResponse{Response: to}, nil
	case *dap.PauseRequest:
		return &dap.PauseResponse{Response: to}, nil
	case *dap.TerminateRequest:
		return &dap.TerminateResponse{Response: to}, nil
	case *dap.DisconnectRequest:
		s.end()
		return &dap.DisconnectResponse{Response: to}, nil
	case *customRequest:
		if to.Command == "differences" {
			return s.differences(to, m)
		}
		return &dap.ContinueResponse{Response: to, Body: dap.ContinueResponseBody{AllThreadsContinued: true}}, nil
	}
	return nil, fmt.Errorf("the request %s is not supported", to.Command)
}

// take notes the program that is to be launched.
func (s *server) take(arguments json.RawMessage) error {
	l := new(Launch)
	if err := json.Unmarshal(arguments, l); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	if l.Program == "" {
		return errors.New("launch: got no program, want the path of a script")
	}
	s.launch = l
	return nil
}

// setBreaks replaces the breakpoints of a file.
func (s *server) setBreaks(to dap.Response, a *dap.SetBreakpointsArguments) dap.Message {
	path := a.Source.Path
	old := s.breaks[path]
	s.control.Remove(func(b debug.Break) bool { return slices.Contains(old, b.ID) })
	s.breaks[path] = nil
	answer := &dap.SetBreakpointsResponse{Response: to, Body: dap.SetBreakpointsResponseBody{Breakpoints: []dap.Breakpoint{}}}
	for _, want := range a.Breakpoints {
		got := dap.Breakpoint{Line: want.Line, Source: &a.Source}
		b, err := parseBreak(path, want)
		if text, bad := os.ReadFile(path); err == nil && bad == nil {
			err = b.Check(string(text))
		}
		if err != nil {
			got.Message = err.Error()
		} else {
			got.Id, got.Verified = s.control.Add(b), true
			s.breaks[path] = append(s.breaks[path], got.Id)
		}
		answer.Body.Breakpoints = append(answer.Body.Breakpoints, got)
	}
	return answer
}

// parseBreak reads the condition of a breakpoint, which may be a clause of the command
// debug.
func parseBreak(path string, want dap.SourceBreakpoint) (debug.Break, error) {
	clause := strings.TrimSpace(want.Condition)
	first, _, _ := strings.Cut(clause, " ")
	if clause != "" && first != "differs" && first != "on" && first != "if" {
		clause = "if " + clause
	}
	return debug.ParseBreak(fmt.Sprintf("%d %s", want.Line, clause), path)
}

func (s *server) threads(to dap.Response) dap.Message {
	answer := &dap.ThreadsResponse{Response: to, Body: dap.ThreadsResponseBody{Threads: []dap.Thread{}}}
	for r := range s.control.Size() {
		answer.Body.Threads = append(answer.Body.Threads, dap.Thread{Id: r + 1, Name: fmt.Sprintf("rank %d", r)})
	}
	return answer
}

// stopped returns the last Stop.
func (s *server) stopped() debug.Stop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop
}

// A frame of the protocol is a rank and a frame of it.
const framesOfRank = 1 << 16

func frameID(rank, frame int) int { return rank*framesOfRank + frame + 1 }

func frameOf(id int) (rank, frame int) { return (id - 1) / framesOfRank, (id - 1) % framesOfRank }

func (s *server) stack(to dap.Response, a *dap.StackTraceArguments) (dap.Message, error) {
	rank := a.ThreadId - 1
	got, err := s.control.Ask(rank, lang.Question{What: lang.AskFrames})
	if err != nil {
		return nil, err
	}
	if got.Standing == lang.Running {
		return nil, fmt.Errorf("rank %d runs", rank)
	}
	answer := &dap.StackTraceResponse{Response: to, Body: dap.StackTraceResponseBody{StackFrames: []dap.StackFrame{}, TotalFrames: len(got.Frames)}}
	for i, f := range got.Frames {
		name := f.Name
		if i == 0 && got.Standing == lang.Waiting {
			name += " (waits in " + string(got.Call) + ")"
		}
		if i < a.StartFrame || a.Levels > 0 && i >= a.StartFrame+a.Levels {
			continue
		}
		answer.Body.StackFrames = append(answer.Body.StackFrames, dap.StackFrame{Id: frameID(rank, i), Name: name, Source: sourceOf(f.Path), Line: f.Line, Column: f.Col})
	}
	return answer, nil
}

// ref returns the number of a handle.
func (s *server) ref(h handle) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handles = append(s.handles, h)
	return len(s.handles)
}

// handleOf returns the handle of a number.
func (s *server) handleOf(ref int) (handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ref < 1 || ref > len(s.handles) {
		return handle{}, fmt.Errorf("got the reference %d, want one of this stop", ref)
	}
	return s.handles[ref-1], nil
}

func (s *server) scopes(to dap.Response, id int) dap.Message {
	rank, frame := frameOf(id)
	return &dap.ScopesResponse{Response: to, Body: dap.ScopesResponseBody{Scopes: []dap.Scope{
		{Name: "Locals", PresentationHint: "locals", VariablesReference: s.ref(handle{rank: rank, frame: frame, what: lang.AskLocals})},
		{Name: "Globals", PresentationHint: "globals", VariablesReference: s.ref(handle{rank: rank, frame: frame, what: lang.AskGlobals})},
	}}}
}

func (s *server) variables(to dap.Response, ref int) (dap.Message, error) {
	h, err := s.handleOf(ref)
	if err != nil {
		return nil, err
	}
	got, err := s.control.Ask(h.rank, lang.Question{What: h.what, Frame: h.frame, Expr: h.expr})
	if err != nil {
		return nil, err
	}
	answer := &dap.VariablesResponse{Response: to, Body: dap.VariablesResponseBody{Variables: []dap.Variable{}}}
	for _, v := range got.Values {
		answer.Body.Variables = append(answer.Body.Variables, dap.Variable{
			Name: string(v.Name), Value: string(v.Text), Type: v.Type, EvaluateName: string(v.Expr), VariablesReference: s.partsRef(h, v),
		})
	}
	return answer, nil
}

// partsRef returns the number by which the parts of a value can be asked for; 0 if it
// has none.
func (s *server) partsRef(h handle, v lang.Value) int {
	if v.Parts == 0 || v.Expr == "" {
		return 0
	}
	return s.ref(handle{rank: h.rank, frame: h.frame, what: lang.AskParts, expr: v.Expr})
}

// setVariable changes a variable, or a part of a value, on the rank that shows it.
func (s *server) setVariable(to dap.Response, a *dap.SetVariableArguments) (dap.Message, error) {
	h, err := s.handleOf(a.VariablesReference)
	if err != nil {
		return nil, err
	}
	target := a.Name
	if h.what == lang.AskParts {
		got, err := s.control.Ask(h.rank, lang.Question{What: h.what, Frame: h.frame, Expr: h.expr})
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(got.Values, func(v lang.Value) bool { return string(v.Name) == a.Name })
		if i < 0 {
			return nil, fmt.Errorf("there is no %s", a.Name)
		}
		target = string(got.Values[i].Expr)
	}
	v, err := s.assign(h, target, a.Value)
	if err != nil {
		return nil, err
	}
	return &dap.SetVariableResponse{Response: to, Body: dap.SetVariableResponseBody{Value: string(v.Text), Type: v.Type, VariablesReference: s.partsRef(h, v)}}, nil
}

// setExpression changes the value of an expression.
func (s *server) setExpression(to dap.Response, a *dap.SetExpressionArguments) (dap.Message, error) {
	h := s.handleAt(a.FrameId)
	v, err := s.assign(h, a.Expression, a.Value)
	if err != nil {
		return nil, err
	}
	return &dap.SetExpressionResponse{Response: to, Body: dap.SetExpressionResponseBody{Value: string(v.Text), Type: v.Type, VariablesReference: s.partsRef(h, v)}}, nil
}

// assign assigns a value to a target in a frame, and returns the value that the target then has.
func (s *server) assign(h handle, target, value string) (lang.Value, error) {
	ask := func(what lang.What, expr string) (*lang.Answer, error) {
		return s.control.Ask(h.rank, lang.Question{What: what, Frame: h.frame, Expr: lang.Text(expr)})
	}
	if _, err := ask(lang.AskAssign, target+" = "+value); err != nil {
		return lang.Value{}, err
	}
	got, err := ask(lang.AskValue, target)
	if err != nil {
		return lang.Value{}, err
	}
	if got.Standing == lang.Running {
		return lang.Value{}, fmt.Errorf("rank %d runs", h.rank)
	}
	return got.Values[0], nil
}

// handleAt returns the handle of a frame; that of the rank that stopped for 0.
func (s *server) handleAt(frame int) handle {
	if frame > 0 {
		rank, n := frameOf(frame)
		return handle{rank: rank, frame: n}
	}
	return handle{rank: max(s.stopped().Rank, 0)}
}

func (s *server) evaluate(to dap.Response, a *dap.EvaluateArguments) (dap.Message, error) {
	h := s.handleAt(a.FrameId)
	line, command := strings.CutPrefix(strings.TrimSpace(a.Expression), ":")
	what := lang.AskValue
	switch {
	case a.Context == "repl" && command:
		return s.console(to, line)
	case a.Context == "repl" && lang.IsAssignment(line):
		what = lang.AskAssign
	}
	got, err := s.control.Ask(h.rank, lang.Question{What: what, Frame: h.frame, Expr: lang.Text(a.Expression)})
	if err != nil {
		return nil, err
	}
	switch {
	case got.Standing == lang.Running:
		return nil, fmt.Errorf("rank %d runs", h.rank)
	case len(got.Values) == 0: // an item or an attribute was assigned
		return &dap.EvaluateResponse{Response: to}, nil
	}
	v := got.Values[0]
	ref := s.partsRef(h, v)
	return &dap.EvaluateResponse{Response: to, Body: dap.EvaluateResponseBody{Result: string(v.Text), Type: v.Type, VariablesReference: ref}}, nil
}
