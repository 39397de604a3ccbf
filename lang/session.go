package lang

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Options say how a Session shows the output of its ranks. The zero value shows
// nothing.
type Options struct {
	Out   io.Writer // gets the output of programs; nil for nowhere
	Notes io.Writer // gets lines beside the output (see Noter); nil for nowhere
	Mode  Mode      // "" is Merged

	// Recorded gets the record that the rank's Env has made of a run (see Recorder); nil if
	// nobody wants it.
	Recorded func(rank int, data []byte)

	// Debugger is told where ranks stop; nil if they do not.
	Debugger Debugger

	// Grace is how long ranks may go on when another has failed; 0 is 2 s.
	Grace time.Duration
	// Patience is how long a rank that is told to stop may take; 0 is 5 s.
	Patience time.Duration
}

// withDefaults returns the options with the zero values replaced.
func (o Options) withDefaults() Options {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Notes == nil {
		o.Notes = io.Discard
	}
	if o.Mode == "" {
		o.Mode = Merged
	}
	if o.Grace == 0 {
		o.Grace = 2 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	return o
}

// A Session is a front end's side of the control connections to its ranks.
// Its methods are for one goroutine, but for Interrupt and AskStop, which any may
// call.
type Session struct {
	conns   []Conn
	opts    Options
	cancel  context.CancelFunc // ends the readers
	readers sync.WaitGroup

	events     chan event
	interrupts chan struct{}
	stopAsks   chan struct{}

	seq    int
	failed bool    // the last chunk ended badly on some rank
	broken []error // by rank: why it cannot be used: it has gone, or does not stop
}

// An event is news of a rank's connection: a message, or its end.
type event struct {
	rank int
	*message
	err error
}

// NewSession returns a session over the connections, by rank. Close ends it.
func NewSession(conns []Conn, opts Options) *Session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Session{
		conns:      conns,
		opts:       opts.withDefaults(),
		cancel:     cancel,
		events:     make(chan event),
		interrupts: make(chan struct{}, 1),
		stopAsks:   make(chan struct{}, 1),
		broken:     make([]error, len(conns)),
	}
	for rank := range conns {
		s.readers.Go(func() { s.read(ctx, rank) })
	}
	return s
}

// Size returns the number of ranks.
func (s *Session) Size() int { return len(s.conns) }

// Close tells the ranks to stop. It waits for no rank.
func (s *Session) Close() error {
	var errs []error
	for _, c := range s.conns {
		err := c.Send((&message{Stop: &stopMsg{}}).encode())
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			errs = append(errs, err)
		}
	}
	s.cancel()
	s.readers.Wait()
	return errors.Join(errs...)
}

// Interrupt ends the program under way, as if its context had been cancelled.
// It does nothing if there is none.
func (s *Session) Interrupt() {
	select {
	case s.interrupts <- struct{}{}:
	default:
	}
}

// AskStop asks the program under way, or the next one, to end soon (see Stopper).
func (s *Session) AskStop() {
	select {
	case s.stopAsks <- struct{}{}:
	default:
	}
}

// read passes on the messages of one rank.
func (s *Session) read(ctx context.Context, rank int) {
	for {
		e := event{rank: rank}
		var data []byte
		if data, e.err = s.conns[rank].Recv(ctx); e.err == nil {
			e.message, e.err = decode(data)
		}
		select {
		case s.events <- e:
		case <-ctx.Done():
			return
		}
		if e.err != nil {
			return
		}
	}
}

// send sends a message to a rank. The end of a connection shows when it is
// read from.
func (s *Session) send(rank int, m *message) {
	s.conns[rank].Send(m.encode())
}

// allRanks returns 0, 1, ...
func (s *Session) allRanks() []int {
	ranks := make([]int, len(s.conns))
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}

// usable returns an error if one of the ranks cannot be used.
func (s *Session) usable(ranks []int) error {
	for _, r := range ranks {
		if r < 0 || r >= len(s.conns) {
			return fmt.Errorf("rank %d: want a rank from 0 to %d", r, len(s.conns)-1)
		}
		if err := s.broken[r]; err != nil {
			return fmt.Errorf("rank %d: %w", r, err)
		}
	}
	return nil
}

// Complete returns where in line its last word begins, and its candidates, as
// rank 0 sees it.
func (s *Session) Complete(ctx context.Context, line string) (start int, names []string, err error) {
	replies, err := s.ask(ctx, []int{0}, &message{Complete: &completeMsg{text(line)}})
	if err != nil {
		return len(line), nil, err
	}
	return replies[0].Start, replies[0].Names, nil
}

// Explain returns rank 0's knowledge of the value of a dotted path: the names
// under which the documentation may have it, and the description of a variable.
func (s *Session) Explain(ctx context.Context, path string) (names []string, what string, err error) {
	replies, err := s.ask(ctx, []int{0}, &message{Explain: &explainMsg{text(path)}})
	if err != nil {
		return nil, "", err
	}
	return replies[0].Names, string(replies[0].Text), nil
}

// Variables returns the globals that chunks have assigned, by rank.
func (s *Session) Variables(ctx context.Context) ([][]Variable, error) {
	replies, err := s.ask(ctx, s.allRanks(), &message{Who: &whoMsg{}})
	if err != nil {
		return nil, err
	}
	var vars [][]Variable
	for _, r := range replies {
		vars = append(vars, r.Variables)
	}
	return vars, nil
}

// ask sends a question to ranks that are at rest and returns their answers.
func (s *Session) ask(ctx context.Context, ranks []int, m *message) ([]*replyMsg, error) {
	if err := s.usable(ranks); err != nil {
		return nil, err
	}
	s.seq++
	m.Seq = s.seq
	for _, r := range ranks {
		s.send(r, m)
	}
	replies := make([]*replyMsg, len(ranks))
	for missing := len(ranks); missing > 0; {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case e := <-s.events:
			if e.err != nil {
				s.broken[e.rank] = death(e.err)
				return nil, fmt.Errorf("rank %d: %w", e.rank, s.broken[e.rank])
			}
			if i := slices.Index(ranks, e.rank); e.Seq == m.Seq && e.Reply != nil && i >= 0 && replies[i] == nil {
				replies[i] = e.Reply
				missing--
			}
			s.note(e)
		}
	}
	return replies, nil
}

// note shows a rank's note, if e is one.
func (s *Session) note(e event) {
	if e.message != nil && e.Note != nil {
		fmt.Fprintf(s.opts.Notes, "%s\n", e.Note.Text)
	}
}
