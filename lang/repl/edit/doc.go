// Package edit reads texts of several lines at a terminal: the statements of a
// shell.
//
// An Editor shows a prompt and the text behind it, and changes the text by the keys that
// are typed until Enter ends it. Whether Enter ends it or begins another line is
// for Config.State to say. A text that a terminal pastes in brackets goes in as it is:
// no Enter in it ends anything, and nothing of it is indented.
//
// The parts are apart, so that each is tested by itself: keys are read from bytes
// (readKey), a buffer is a text with a cursor, layout says where on a screen each
// letter of it stands, and a History keeps texts in a file.
//
//	e := edit.New(edit.Config{In: os.Stdin, Out: os.Stdout, State: state})
//	text, err := e.Read("> ", "... ")
package edit
