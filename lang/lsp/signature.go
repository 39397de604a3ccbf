package lsp

import (
	"slices"
	"strings"

	"tpsh/lang/analysis"
)

// signatureHelp shows the parameters of the function whose call the place is in.
func (s *Server) signatureHelp(d *document, p *documentParams) (any, error) {
	m := &completer{s: s, d: d, c: analysis.CursorAt(d.text.body, d.text.offset(p.Position)), seen: map[string]bool{}}
	call := m.c.Call()
	if call == nil || m.c.Comment {
		return nil, nil
	}
	fn := m.callee(call.Before)
	if fn == nil {
		return s.documentedHelp(call), nil
	}
	params := slices.Clone(fn.Params)
	for _, name := range fn.Known() {
		if !slices.Contains(params, name) && slices.Contains(fn.Required, name) {
			params = append(params, name)
		}
	}
	one := signature{Label: fn.Name + "(" + strings.Join(params, ", ") + ")"}
	if fn.Func != nil {
		params = paramTexts(fn.Func)
		one.Label = fn.Name + "(" + strings.Join(params, ", ") + ")"
		if doc := analysis.Docstring(fn.Func.Body); doc != "" {
			one.Documentation = markdown(doc)
		}
	}
	if text, ok := s.docOf(fn.Path); ok {
		if label, list := labelOf(text); label != "" {
			one.Label, params = label, list
		}
		one.Documentation = markdown(docMarkdown(text))
	}
	for _, p := range params {
		one.Parameters = append(one.Parameters, parameter{p})
	}
	return signatureHelp{Signatures: []signature{one}, ActiveParameter: active(call, params)}, nil
}

// documentedHelp shows the first line of a documentation, of a function of which no
// more is known.
func (s *Server) documentedHelp(call *analysis.Bracket) any {
	text, ok := s.docOf(call.Before)
	if !ok {
		return nil
	}
	label, params := labelOf(text)
	if label == "" {
		return nil
	}
	one := signature{Label: label, Documentation: markdown(docMarkdown(text))}
	for _, p := range params {
		one.Parameters = append(one.Parameters, parameter{p})
	}
	return signatureHelp{Signatures: []signature{one}, ActiveParameter: active(call, params)}
}

// labelOf returns the call with which a documentation begins, and its parameters.
func labelOf(text string) (string, []string) {
	first, _, _ := strings.Cut(text, "\n")
	open := strings.IndexByte(first, '(')
	if open < 0 {
		return "", nil
	}
	depth, start, quoted := 0, open+1, false
	var params []string
	for i := open; i < len(first); i++ {
		switch c := first[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case c == ',' && depth == 1:
			params = append(params, strings.TrimSpace(first[start:i]))
			start = i + 1
		case strings.IndexByte(")]}", c) >= 0:
			if depth--; depth == 0 {
				if last := strings.TrimSpace(first[start:i]); last != "" {
					params = append(params, last)
				}
				return first[:i+1], params
			}
		}
	}
	return "", nil
}

// active returns the parameter that the last argument of a call is for.
func active(call *analysis.Bracket, params []string) int {
	at := len(call.Args) - 1
	if key := call.Args[at].Key; key != "" {
		for i, p := range params {
			if name, _, _ := strings.Cut(p, "="); strings.TrimSpace(name) == key {
				return i
			}
		}
	}
	for i, p := range params {
		if strings.HasPrefix(p, "*") {
			return min(at, i) // it takes all that follow
		}
	}
	return at
}
