package lang

import (
	"strconv"
	"strings"

	"tpsh/internal/ranklist"
)

// A Line is one call of print: where in the source, the how many-eth of that
// place in the section (from 0), and the text it printed.
type Line struct {
	At   string `json:"at"`
	N    int    `json:"n,omitempty"`
	Text text   `json:"text"`
}

// size is the number of bytes that the line counts for.
func (l Line) size() int { return len(l.At) + len(l.Text) + 16 }

// merge returns the text of a section from the lines of each rank.
//
// Lines of the same print are equal in At and N. Those that are equal in Text
// too become one, marked with the ranks that printed it unless all did. The
// prints come in the order of the lowest rank that executed them, and the
// lines of one print by rank.
func merge(ranks [][]Line) string {
	var b strings.Builder
	for _, t := range collect(ranks) {
		t.write(&b, bracketed(len(ranks)))
	}
	return b.String()
}

// A tally holds the different texts that ranks have, and who has which.
type tally struct {
	variants []variant
}

type variant struct {
	text  string
	ranks []int // ascending
}

// tallied returns the tally of texts, each of which is of the rank at its index in ranks.
func tallied(ranks []int, texts []string) *tally {
	t := new(tally)
	for i, text := range texts {
		t.add(ranks[i], text)
	}
	return t
}

// add notes that a rank, higher than those before it, has a text.
func (t *tally) add(rank int, text string) {
	for i := range t.variants {
		if v := &t.variants[i]; v.text == text {
			v.ranks = append(v.ranks, rank)
			return
		}
	}
	t.variants = append(t.variants, variant{text, []int{rank}})
}

// write writes each text behind the mark of its ranks.
func (t *tally) write(b *strings.Builder, mark func(ranks []int) string) {
	for _, v := range t.variants {
		writeMarked(b, mark(v.ranks), v.text)
	}
}

// bracketed returns the mark "[0,2]" of some of size ranks, and none of all.
func bracketed(size int) func(ranks []int) string {
	return func(ranks []int) string {
		if len(ranks) == size {
			return ""
		}
		return "[" + rankList(ranks) + "]"
	}
}

// collect returns what was printed by each print of a section, in order.
func collect(ranks [][]Line) []*tally {
	type place struct {
		at string
		n  int
	}
	index := make(map[place]*tally)
	var order []*tally
	for rank, lines := range ranks {
		for _, l := range lines {
			t := index[place{l.At, l.N}]
			if t == nil {
				t = new(tally)
				index[place{l.At, l.N}] = t
				order = append(order, t)
			}
			t.add(rank, string(l.Text))
		}
	}
	return order
}

// writeMarked writes s and a newline, with the mark before each of its lines.
func writeMarked(b *strings.Builder, mark, s string) {
	for line := range strings.SplitSeq(s, "\n") {
		b.WriteString(mark)
		if mark != "" && line != "" {
			b.WriteByte(' ')
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
}

// MergeValues returns the texts that some of size ranks have: alone if all
// have one and the same, else a row for each distinct text, after its ranks.
func MergeValues(size int, ranks []int, values []string) string {
	var b strings.Builder
	tallied(ranks, values).write(&b, bracketed(size))
	return b.String()
}

// manyRanks is the number of ranks above which a list of them is shortened.
const manyRanks = 8

// rankList lists ascending ranks: "0,2,5". Beyond manyRanks, runs of
// neighbours are shortened: "0-6,8,9".
func rankList(ranks []int) string {
	if len(ranks) > manyRanks {
		return ranklist.Ranges(ranks)
	}
	words := make([]string, len(ranks))
	for i, r := range ranks {
		words[i] = strconv.Itoa(r)
	}
	return strings.Join(words, ",")
}

// MergeRanks returns the texts that some of size ranks have, a row for each distinct
// one, behind its ranks in words.
func MergeRanks(size int, ranks []int, texts []string) string {
	var b strings.Builder
	tallied(ranks, texts).write(&b, func(ranks []int) string {
		if len(ranks) == size && size > 1 {
			return "all ranks:"
		}
		return ranklist.Text(ranks) + ":"
	})
	return b.String()
}
