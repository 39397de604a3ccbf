// Package vt is a terminal for tests: what a program sees of one, and what a person
// would see on its screen.
//
// Open makes a pseudo-terminal: its slave is the terminal of the program, and what
// is written to its master is typed. A Screen takes what the program writes, and
// says what stands where; it knows the sequences that this repository writes and
// panics at others, so that a test does not pass by overlooking one.
//
//	keys, terminal, err := vt.Open(80, 24)
//	screen := vt.NewScreen(80, 24)
//	go io.Copy(screen, keys)
//	io.WriteString(keys, "1 + 1\r")
//	...
//	screen.String()
package vt
