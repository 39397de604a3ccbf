package lang

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tpsh/lang/halt"
)

// version is the version of the messages. Ends of different versions do not
// understand each other and say so.
const version = 2

// A message goes between a front end and a rank: one of the
// fields below Seq, which is the number of the run or question that the
// message belongs to.
type message struct {
	Seq int

	// From the front end to a rank.
	Ready    *readyMsg    // answered by a reply
	Run      *runMsg      // answered by lines and one done
	Cancel   *cancelMsg   // of the run Seq
	AskStop  *askStopMsg  // of the run Seq
	Ack      *ackMsg      // of lines
	Complete *completeMsg // answered by a reply
	Who      *whoMsg      // answered by a reply
	Explain  *explainMsg  // answered by a reply
	Order    *orderMsg    // of a debugger
	Look     *Question    // of a debugger, answered by seen
	Stop     *stopMsg     // ends Serve

	// From a rank to the front end.
	Lines *linesMsg
	Note  *noteMsg
	Done  *doneMsg
	Reply *replyMsg
	Halt  *Halt   // of the run Seq
	Seen  *Answer // to the look Seq
}

// readyMsg says that a chunk is to begin on some ranks.
type readyMsg struct {
	Failed bool  `json:"failed,omitempty"` // the last chunk ended badly somewhere
	Ranks  []int `json:"ranks,omitempty"`  // that will run the chunk; none for all
}

// runMsg asks to run a program. Its fields are those of Program.
type runMsg struct {
	Path      text   `json:"path"`
	Dir       text   `json:"dir"`
	Source    text   `json:"source"`
	Lib       []text `json:"lib,omitempty"`
	Allow     []text `json:"allow,omitempty"`
	Function  string `json:"function,omitempty"`
	Before    string `json:"before,omitempty"`
	After     string `json:"after,omitempty"`
	Case      int    `json:"case,omitempty"`
	Cover     bool   `json:"cover,omitempty"`
	Describe  bool   `json:"describe,omitempty"`
	Chunk     bool   `json:"chunk,omitempty"`
	FirstLine int    `json:"first_line,omitempty"`
	Width     int    `json:"width,omitempty"`
	MaxSteps  uint64 `json:"max_steps,omitempty"`
	Debug     bool   `json:"debug,omitempty"`
	Marked    bool   `json:"marked,omitempty"`
	Output    Mode   `json:"output"`
}

// cancelMsg ends a run before its time.
type cancelMsg struct {
	Reason stopReason `json:"reason"`
	Text   string     `json:"text"`
}

// askStopMsg asks a program to end soon.
type askStopMsg struct{}

// ackMsg says that the front end has dealt with so many bytes of lines.
type ackMsg struct {
	Bytes int `json:"bytes"`
}

// completeMsg asks how a line of input may go on.
type completeMsg struct {
	Line text `json:"line"`
}

// whoMsg asks for the variables of the session.
type whoMsg struct{}

// explainMsg asks for the meaning of a dotted path.
type explainMsg struct {
	Path text `json:"path"`
}

// orderMsg tells a rank where to stop, and if it has stopped, to go on.
type orderMsg struct {
	halt.Orders
	Resume bool `json:"resume,omitempty"`
	Keep   bool `json:"keep,omitempty"` // the orders that it has
}

// stopMsg asks the rank to end.
type stopMsg struct{}

// linesMsg holds lines that were printed: a whole section, or if Stream is
// set, lines to be shown at once.
type linesMsg struct {
	Stream bool   `json:"stream,omitempty"`
	Lines  []Line `json:"lines"`
}

// size is how much the message counts against the credit of its sender.
func (m *linesMsg) size() int {
	n := 0
	for _, l := range m.Lines {
		n += l.size()
	}
	return n
}

// noteMsg holds a line that is beside the program's output.
type noteMsg struct {
	Text text `json:"text"`
}

// doneMsg says how a run ended on the rank.
type doneMsg struct {
	Failure *Failure `json:"failure,omitempty"` // nil if it ended well
	Cover   Cover    `json:"cover,omitempty"`   // if it was asked for
	// values of variables, if they were asked for
	Described []Described `json:"described,omitempty"`
	Value     *text       `json:"value,omitempty"`  // of a chunk that is an expression other than None
	Record    []byte      `json:"record,omitempty"` // see Recorder
}

// replyMsg answers ready, complete, who or explain.
type replyMsg struct {
	Start     int        `json:"start,omitempty"` // where in the line the names go
	Names     []string   `json:"names,omitempty"`
	Variables []Variable `json:"variables,omitempty"`
	Text      text       `json:"text,omitempty"` // the explanation of a value
}

// A Variable is a global of a session as it is shown.
type Variable struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Text string `json:"text"` // the text of Env.Describe, or the value, cut short
}

// A body is one of the fields of a message below Seq.
type body struct {
	name string
	of   func(m *message) any // the field, nil if it is not set
	make func(m *message) any // sets it to a value without contents, which it returns
}

func bodyOf[T any](name string, field func(m *message) **T) body {
	return body{name, func(m *message) any {
		if p := *field(m); p != nil {
			return p
		}
		return nil
	}, func(m *message) any {
		*field(m) = new(T)
		return *field(m)
	}}
}

// bodies lists the fields of which a message has exactly one.
var bodies = [...]body{
	bodyOf("ready", func(m *message) **readyMsg { return &m.Ready }),
	bodyOf("run", func(m *message) **runMsg { return &m.Run }),
	bodyOf("cancel", func(m *message) **cancelMsg { return &m.Cancel }),
	bodyOf("ask_stop", func(m *message) **askStopMsg { return &m.AskStop }),
	bodyOf("ack", func(m *message) **ackMsg { return &m.Ack }),
	bodyOf("complete", func(m *message) **completeMsg { return &m.Complete }),
	bodyOf("who", func(m *message) **whoMsg { return &m.Who }),
	bodyOf("explain", func(m *message) **explainMsg { return &m.Explain }),
	bodyOf("order", func(m *message) **orderMsg { return &m.Order }),
	bodyOf("look", func(m *message) **Question { return &m.Look }),
	bodyOf("stop", func(m *message) **stopMsg { return &m.Stop }),
	bodyOf("lines", func(m *message) **linesMsg { return &m.Lines }),
	bodyOf("note", func(m *message) **noteMsg { return &m.Note }),
	bodyOf("done", func(m *message) **doneMsg { return &m.Done }),
	bodyOf("reply", func(m *message) **replyMsg { return &m.Reply }),
	bodyOf("halt", func(m *message) **Halt { return &m.Halt }),
	bodyOf("seen", func(m *message) **Answer { return &m.Seen }),
}

// encode returns the bytes of a message: a line with the version, Seq and the name of its
// body, then that as JSON. Package json makes its tables for a type, and for all types within,
// when it first meets it: so a process makes them for the bodies that it sends and is sent.
func (m *message) encode() []byte {
	for _, b := range bodies {
		if value := b.of(m); value != nil {
			data, err := json.Marshal(value)
			if err != nil {
				panic(fmt.Sprintf("message %s %+v: %v", b.name, value, err)) // all its types are encodable
			}
			return append(fmt.Appendf(nil, "%d %d %s\n", version, m.Seq, b.name), data...)
		}
	}
	panic("message without a body")
}

// decode reads a message.
func decode(data []byte) (*message, error) {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	words := strings.Split(string(line[:min(len(line), maxHead)]), " ")
	if len(words) != 3 {
		return nil, fmt.Errorf("control message: got the line %q, want a version, a number and a name", strings.Join(words, " "))
	}
	if words[0] != strconv.Itoa(version) {
		return nil, fmt.Errorf("control message: got version %s, want %d", words[0], version)
	}
	m := new(message)
	var err error
	if m.Seq, err = strconv.Atoi(words[1]); err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	i := slices.IndexFunc(bodies[:], func(b body) bool { return b.name == words[2] })
	if i < 0 {
		return nil, fmt.Errorf("control message: got a body %q, want one of those that are known", words[2])
	}
	d := json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	if err := d.Decode(bodies[i].make(m)); err != nil {
		return nil, fmt.Errorf("control message: %s: %w", words[2], err)
	}
	if d.More() {
		return nil, errors.New("control message: more than one")
	}
	return m, nil
}

// maxHead is how much of the first line of a message is looked at.
const maxHead = 80

// Text is text, for packages that ask questions.
type Text = text

// text is a string of any bytes. In JSON it is a string if it is valid UTF-8,
// and else an object that holds its bytes.
type text string

func toTexts(list []string) []text {
	texts := make([]text, len(list))
	for i, s := range list {
		texts[i] = text(s)
	}
	return texts
}

func fromTexts(texts []text) []string {
	list := make([]string, len(texts))
	for i, t := range texts {
		list[i] = string(t)
	}
	return list
}

type rawText struct {
	Bytes []byte `json:"bytes"`
}

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(rawText{[]byte(t)})
}

func (t *text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var raw rawText
		err := json.Unmarshal(data, &raw)
		*t = text(raw.Bytes)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}
