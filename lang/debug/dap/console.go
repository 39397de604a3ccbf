package dap

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/go-dap"

	"tpsh/lang"
	"tpsh/lang/debug"
)

// console carries out a line of the command debug.
func (s *server) console(to dap.Response, line string) (dap.Message, error) {
	var out strings.Builder
	p := &debug.Prompt{C: s.control, Out: &out}
	p.See(s.stopped())
	p.Do(line)
	return &dap.EvaluateResponse{Response: to, Body: dap.EvaluateResponseBody{Result: strings.TrimRight(out.String(), "\n")}}, nil
}

// differences says which variables of a frame, or which expression, is not the same on
// all ranks.
func (s *server) differences(to dap.Response, m *customRequest) (dap.Message, error) {
	rank, frame := max(s.stopped().Rank, 0), 0
	if m.Arguments.FrameID > 0 {
		rank, frame = frameOf(m.Arguments.FrameID)
	}
	names := []string{m.Arguments.Expression}
	if m.Arguments.Expression == "" {
		got, err := s.control.Ask(rank, lang.Question{What: lang.AskLocals, Frame: frame})
		if err != nil {
			return nil, err
		}
		if got.Standing == lang.Running {
			return nil, errors.New("the rank runs")
		}
		names = nil
		for _, v := range got.Values {
			names = append(names, string(v.Name))
		}
	}
	answer := &DifferencesResponse{Response: to}
	answer.Body.Differences = []Difference{}
	for _, name := range names {
		values, ranks, err := s.control.Evaluate(nil, frame, name)
		if err != nil {
			return nil, err
		}
		if d := different(name, values, ranks); len(d.Values) > 1 {
			answer.Body.Differences = append(answer.Body.Differences, d)
		}
	}
	return answer, nil
}

// different returns the distinct values of an expression with the ranks that have them.
func different(name string, values []lang.Value, ranks []int) Difference {
	d := Difference{Name: name}
	var digests []lang.Text
	for i, v := range values {
		at := slices.Index(digests, v.Digest)
		if at < 0 {
			at = len(digests)
			digests = append(digests, v.Digest)
			d.Values = append(d.Values, DifferentFrom{Value: string(v.Text)})
		}
		d.Values[at].Ranks = append(d.Values[at].Ranks, ranks[i])
	}
	return d
}
