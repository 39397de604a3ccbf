package lang

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"tpsh/lang/halt"
)

// version is the version of the messages. Ends of different versions do not
// understand each other and say so.
const version = 1

// A message goes between a front end and a rank: one of the
// fields below Seq, which is the number of the run or question that the
// message belongs to.
type message struct {
	Version int `json:"v"`
	Seq     int `json:"seq,omitempty"`

	// From the front end to a rank.
	Ready    *readyMsg    `json:"ready,omitempty"`    // answered by a reply
	Run      *runMsg      `json:"run,omitempty"`      // answered by lines and one done
	Cancel   *cancelMsg   `json:"cancel,omitempty"`   // of the run Seq
	AskStop  *askStopMsg  `json:"ask_stop,omitempty"` // of the run Seq
	Ack      *ackMsg      `json:"ack,omitempty"`      // of lines
	Complete *completeMsg `json:"complete,omitempty"` // answered by a reply
	Who      *whoMsg      `json:"who,omitempty"`      // answered by a reply
	Explain  *explainMsg  `json:"explain,omitempty"`  // answered by a reply
	Order    *orderMsg    `json:"order,omitempty"`    // of a debugger
	Look     *Question    `json:"look,omitempty"`     // of a debugger, answered by seen
	Stop     *stopMsg     `json:"stop,omitempty"`     // ends Serve

	// From a rank to the front end.
	Lines *linesMsg `json:"lines,omitempty"`
	Note  *noteMsg  `json:"note,omitempty"`
	Done  *doneMsg  `json:"done,omitempty"`
	Reply *replyMsg `json:"reply,omitempty"`
	Halt  *Halt     `json:"halt,omitempty"` // of the run Seq
	Seen  *Answer   `json:"seen,omitempty"` // to the look Seq
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

// encode returns the bytes of a message.
func (m *message) encode() []byte {
	m.Version = version
	data, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("message %+v: %v", m, err)) // all its types are encodable
	}
	return data
}

// decode reads a message.
func decode(data []byte) (*message, error) {
	m := new(message)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	if m.Version != version {
		return nil, fmt.Errorf("control message: got version %d, want %d", m.Version, version)
	}
	if n := m.bodies(); n != 1 {
		return nil, fmt.Errorf("control message: got %d bodies, want 1", n)
	}
	if d.More() {
		return nil, errors.New("control message: more than one")
	}
	return m, nil
}

// bodies counts the fields of which a message has exactly one.
func (m *message) bodies() int {
	n := 0
	for _, set := range []bool{
		m.Ready != nil, m.Run != nil, m.Cancel != nil, m.AskStop != nil, m.Ack != nil, m.Complete != nil, m.Who != nil, m.Explain != nil, m.Order != nil, m.Look != nil, m.Stop != nil,
		m.Lines != nil, m.Note != nil, m.Done != nil, m.Reply != nil, m.Halt != nil, m.Seen != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

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
