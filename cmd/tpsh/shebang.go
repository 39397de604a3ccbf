package main

import (
	"bufio"
	"os"
	"strconv"

	"tpsh/internal/lazyregexp"
)

// ranksInShebang matches a first line that says on how many ranks a script is to run,
// as those have that the shell's :save writes.
var ranksInShebang = lazyregexp.New(`^#!.*\btpsh run\b.* -n[ =]?([0-9]+)\b`)

// takeRanks takes the number of ranks from the first line of the script, unless the
// command line has it.
func (r *runner) takeRanks(script string) {
	if r.given("n") || r.given("c") || script == "-" {
		return
	}
	f, err := os.Open(script)
	if err != nil {
		return // whoever reads the script says so
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return
	}
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	if m := ranksInShebang.Get().FindSubmatch(line); m != nil {
		if n, err := strconv.Atoi(string(m[1])); err == nil && checkRanks(n) == nil {
			r.n = n
		}
	}
}
