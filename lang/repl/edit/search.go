package edit

import "fmt"

// search looks for a part of a text in the history, as it is typed: Ctrl-R finds
// the one before, Ctrl-C and Ctrl-G bring back the text from before, and any other key
// takes the text found, and acts on it.
func (e *Editor) search() {
	old, at, part := e.String(), e.at, ""
	place := len(e.History.texts)
	for {
		e.show(fmt.Sprintf("(search) %s: ", part))
		k, err := readKey(e.keys)
		if err != nil {
			return // and whoever reads next meets it again
		}
		next := place
		switch k.kind {
		case letter:
			part += string(k.r)
			next++
		case backspace:
			part = part[:len(part)-min(len(part), len(lastRune(part)))]
			next = len(e.History.texts)
		case search:
		case interrupt, none:
			e.set(old)
			e.at = at
			return
		default:
			e.again(k)
			return
		}
		if found := e.History.find(part, min(next, len(e.History.texts))); found >= 0 && part != "" {
			place = found
			e.recall(found)
		}
	}
}

// again acts on the key that ended a search.
func (e *Editor) again(k key) {
	if k.kind == enter {
		if e.keys.UnreadByte() == nil {
			return
		}
	}
	e.handle(k)
}

// lastRune returns the last letter of a text.
func lastRune(text string) string {
	r := []rune(text)
	if len(r) == 0 {
		return ""
	}
	return string(r[len(r)-1])
}
