package nn

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/internal/units"
)

// String returns the module as PyTorch prints it: its class, what it was made
// with, and the modules in it.
func (m *Module) String() string {
	var names, lines []string
	for _, f := range m.Fields {
		if f.Kind == ModuleField {
			names = append(names, f.Name)
			lines = append(lines, strings.ReplaceAll(f.Value.String(), "\n", "\n  "))
		}
	}
	made := m.madeWith()
	if len(lines) == 0 {
		return m.Class.Name + "(" + made + ")"
	}
	if m.Class == ModuleListClass {
		names, lines = mergeEqual(names, lines)
	}
	text := m.Class.Name + "("
	if m.Get(parametrizationsField) != nil {
		text = "Parametrized" + text
	}
	if made != "" {
		text += "\n  " + made
	}
	for i, line := range lines {
		text += fmt.Sprintf("\n  (%s): %s", names[i], line)
	}
	return text + "\n)"
}

// Describe returns the module as errors show it: on one line.
func (m *Module) Describe() string {
	children := 0
	for _, f := range m.Fields {
		if f.Kind == ModuleField {
			children++
		}
	}
	if children > 0 {
		return fmt.Sprintf("%s of %s", m.Class.Name, units.Count(children, "module"))
	}
	return m.Class.Name + "(" + m.madeWith() + ")"
}

// mergeEqual merges neighbours that print alike: "(0-2): 3 x ReLU()".
func mergeEqual(names, lines []string) (mergedNames, mergedLines []string) {
	for i := 0; i < len(lines); {
		n := 1
		for i+n < len(lines) && lines[i+n] == lines[i] {
			n++
		}
		name, line := names[i], lines[i]
		if n > 1 {
			name, line = name+"-"+names[i+n-1], fmt.Sprintf("%d x %s", n, line)
		}
		mergedNames, mergedLines = append(mergedNames, name), append(mergedLines, line)
		i += n
	}
	return mergedNames, mergedLines
}

// madeWith returns what the module was made with, as str shows it.
func (m *Module) madeWith() string {
	var parts []string
	for i, name := range m.Class.shows {
		f := m.Fields[m.at[name]]
		text := f.Value.String()
		switch {
		case f.Kind == ComputedField:
			text = "True"
		case f.Kind == ParameterField: // it shows whether it is there
			text = starlark.Bool(f.Value != starlark.None).String()
		case f.Value == starlark.None:
			continue
		}
		if i >= m.Class.bare {
			text = name + "=" + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
