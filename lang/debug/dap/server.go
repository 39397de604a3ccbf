package dap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/google/go-dap"

	"tpsh/lang"
	"tpsh/lang/debug"
	"tpsh/lang/halt"
)

// A Launch is a program that an editor wants to be run.
type Launch struct {
	Program     string   `json:"program"`     // the script
	N           int      `json:"n"`           // ranks; 0 for the usual number
	Transport   string   `json:"transport"`   // "" for the usual one
	Args        []string `json:"args"`        // of the script
	StopOnEntry bool     `json:"stopOnEntry"` // stop at the first line
	NoDebug     bool     `json:"noDebug"`     // stop nowhere
}

// A Run runs a program under a debugger to its end, or that of ctx, and returns its exit
// status. The program begins with a step; talk is called where it stops.
type Run func(ctx context.Context, l Launch, c *debug.Controller, step halt.Step, talk func(debug.Stop), out, errs io.Writer) int

// Serve speaks with an editor until it has gone.
func Serve(in io.Reader, out io.Writer, run Run) error {
	s := &server{out: out, run: run, control: debug.New(), breaks: map[string][]int{}, codec: Codec()}
	r := bufio.NewReader(in)
	for !s.over {
		data, err := dap.ReadBaseMessage(r)
		if err != nil {
			s.end()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		m, err := s.codec.DecodeMessage(data)
		if request, ok := m.(dap.RequestMessage); ok && err == nil {
			s.handle(request)
		} else {
			s.refuse(data, err)
		}
	}
	return nil
}

// A server is one conversation with an editor. Fields below mu are used by the
// goroutine of the program, too, and by whoever holds mu.
type server struct {
	run     Run
	control *debug.Controller
	codec   *dap.Codec
	breaks  map[string][]int // by path: the numbers of breakpoints
	launch  *Launch
	ready   bool // the editor has sent its settings
	over    bool
	ended   chan struct{} // closed when the program has ended; nil before it begins
	stops   func()        // ends the program, also while its ranks start

	mu      sync.Mutex
	out     io.Writer
	seq     int        // of the last message
	stop    debug.Stop // the last one
	handles []handle   // that were given out since
}

// A handle is the meaning of a number that an editor is given to ask for variables.
type handle struct {
	rank, frame int
	what        lang.What
	expr        lang.Text
}

// A customRequest is one that the protocol does not have.
type customRequest struct {
	dap.Request
	Arguments struct {
		FrameID    int    `json:"frameId"`
		Expression string `json:"expression"`
	} `json:"arguments"`
}

// A Difference is a variable, or an expression, whose values are not the same on all
// ranks.
type Difference struct {
	Name   string          `json:"name"`
	Values []DifferentFrom `json:"values"`
}

// A DifferentFrom is a value, and the ranks that have it.
type DifferentFrom struct {
	Ranks []int  `json:"ranks"`
	Value string `json:"value"`
}

// A DifferencesResponse answers the request differences.
type DifferencesResponse struct {
	dap.Response
	Body struct {
		Differences []Difference `json:"differences"`
	} `json:"body"`
}

// Codec returns a codec that knows the requests of our own, which clients need, too.
func Codec() *dap.Codec {
	c := dap.NewCodec()
	request := func() dap.Message { return new(customRequest) }
	c.RegisterRequest("untilCollective", request, func() dap.Message { return new(dap.ContinueResponse) })
	c.RegisterRequest("differences", request, func() dap.Message { return new(DifferencesResponse) })
	return c
}

// send sends a message with the next number.
func (s *server) send(m dap.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	switch m := m.(type) {
	case dap.ResponseMessage:
		m.GetResponse().Seq = s.seq
	case dap.EventMessage:
		m.GetEvent().Seq = s.seq
	}
	dap.WriteProtocolMessage(s.out, m)
}

func event(name string) dap.Event {
	return dap.Event{ProtocolMessage: dap.ProtocolMessage{Type: "event"}, Event: name}
}

func response(r *dap.Request) dap.Response {
	return dap.Response{ProtocolMessage: dap.ProtocolMessage{Type: "response"}, Command: r.Command, RequestSeq: r.Seq, Success: true}
}

// fail answers a request with an error.
func (s *server) fail(r *dap.Request, err error) {
	m := &dap.ErrorResponse{Response: response(r)}
	m.Success, m.Message = false, err.Error()
	m.Body.Error = &dap.ErrorMessage{Id: 1, Format: err.Error(), ShowUser: true}
	s.send(m)
}

// refuse answers a message that is no known request.
func (s *server) refuse(data []byte, err error) {
	var r dap.Request
	if json.Unmarshal(data, &r) == nil && r.Type == "request" {
		s.fail(&r, fmt.Errorf("the request %s cannot be carried out (%v)", r.Command, err))
	}
}

// begin starts the program when all is known.
func (s *server) begin() {
	if s.launch == nil || !s.ready || s.ended != nil {
		return
	}
	step := halt.Go
	if s.launch.StopOnEntry && !s.launch.NoDebug {
		step = halt.In
	}
	if s.launch.NoDebug {
		s.control.Remove(func(debug.Break) bool { return true })
	}
	ctx, stop := context.WithCancel(context.Background())
	s.ended, s.stops = make(chan struct{}), stop
	entry := step == halt.In
	talk := func(stop debug.Stop) {
		s.tell(stop, entry)
		entry = false
	}
	go func() {
		defer close(s.ended)
		defer stop()
		code := s.run(ctx, *s.launch, s.control, step, talk, &output{s, "stdout"}, &output{s, "stderr"})
		s.send(&dap.ExitedEvent{Event: event("exited"), Body: dap.ExitedEventBody{ExitCode: code}})
		s.send(&dap.TerminatedEvent{Event: event("terminated")})
	}()
}

// end ends the program and waits for that.
func (s *server) end() {
	if s.ended == nil {
		return
	}
	s.control.Remove(func(debug.Break) bool { return true })
	s.stops()
	s.control.Go(halt.Go, nil)
	<-s.ended
}

// An output passes on the output of the program.
type output struct {
	s        *server
	category string
}

func (o *output) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	o.s.send(&dap.OutputEvent{Event: event("output"), Body: dap.OutputEventBody{Category: o.category, Output: string(p)}})
	return len(p), nil
}

// stopReasons are the reasons of stops in the words of the protocol.
var stopReasons = map[lang.Reason]string{
	lang.AtBreak: "breakpoint", lang.AtCall: "breakpoint", lang.AtCompare: "data breakpoint", lang.AtStep: "step", lang.AtCollective: "step",
	lang.AtPause: "pause", lang.AtError: "exception", lang.AtCaught: "exception",
}

// tell says that the ranks have stopped.
func (s *server) tell(stop debug.Stop, entry bool) {
	s.mu.Lock()
	s.stop, s.handles = stop, nil
	s.mu.Unlock()
	body := dap.StoppedEventBody{Reason: stopReasons[stop.Reason], Description: stop.Headline(), Text: stop.Text, ThreadId: stop.Rank + 1, AllThreadsStopped: true}
	if entry {
		body.Reason = "entry"
	}
	if stop.Break > 0 {
		body.HitBreakpointIds = []int{stop.Break}
	}
	s.send(&dap.StoppedEvent{Event: event("stopped"), Body: body})
}

// sourceOf returns a path of a position as an editor wants it.
func sourceOf(path lang.Text) *dap.Source {
	abs, err := filepath.Abs(string(path))
	if err != nil {
		abs = string(path)
	}
	return &dap.Source{Name: filepath.Base(abs), Path: abs}
}
