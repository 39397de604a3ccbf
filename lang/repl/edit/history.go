package edit

import (
	"os"
	"slices"
	"strings"
)

// A History keeps texts, each once where it would stand twice in a row, in a file
// or in memory alone. In the file a further line of a text stands behind "... ", as
// it does on the screen; so it can be read, and a file of single lines is one, too.
type History struct {
	texts []string
	path  string
	limit int
}

// further begins the lines after the first of a text in the file.
const further = "... "

// OpenHistory returns the History that the file at path holds, of the last limit
// texts; path "" is for none. A file that cannot be read is none.
func OpenHistory(path string, limit int) *History {
	h := &History{path: path, limit: limit}
	data, err := os.ReadFile(path)
	if path == "" || err != nil {
		return h
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if more, ok := strings.CutPrefix(line, further); ok && len(h.texts) > 0 {
			h.texts[len(h.texts)-1] += "\n" + more
		} else if line != "" {
			h.texts = append(h.texts, line)
		}
	}
	if extra := len(h.texts) - limit; extra > 0 {
		h.texts = slices.Delete(h.texts, 0, extra)
		h.rewrite()
	}
	return h
}

// Add adds a text. A text that cannot be written is kept in memory: a shell goes on
// without its history.
func (h *History) Add(text string) {
	text = strings.TrimSpace(text)
	if text == "" || len(h.texts) > 0 && h.texts[len(h.texts)-1] == text {
		return
	}
	h.texts = append(h.texts, text)
	if h.path == "" {
		return
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	f.WriteString(stored(text))
}

// rewrite writes the file anew.
func (h *History) rewrite() {
	var all strings.Builder
	for _, text := range h.texts {
		all.WriteString(stored(text))
	}
	temp := h.path + ".new"
	if os.WriteFile(temp, []byte(all.String()), 0o600) == nil {
		os.Rename(temp, h.path)
	}
}

// stored returns a text as it stands in the file.
func stored(text string) string { return strings.ReplaceAll(text, "\n", "\n"+further) + "\n" }

// find returns the number of the last text before number i that has part in it, or
// -1.
func (h *History) find(part string, i int) int {
	for i--; i >= 0; i-- {
		if strings.Contains(h.texts[i], part) {
			return i
		}
	}
	return -1
}
