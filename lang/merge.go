package lang

import (
	"strconv"
	"strings"
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
	for _, p := range collect(ranks) {
		for _, v := range p.variants {
			mark := ""
			if len(v.ranks) < len(ranks) {
				mark = "[" + rankList(v.ranks) + "]"
			}
			writeMarked(&b, mark, v.text)
		}
	}
	return b.String()
}

// A printed is one print and the different texts that ranks gave it.
type printed struct {
	variants []variant
}

type variant struct {
	text  string
	ranks []int // ascending
}

// add notes that a rank, higher than those before it, printed s.
func (p *printed) add(rank int, s string) {
	for i := range p.variants {
		if v := &p.variants[i]; v.text == s {
			v.ranks = append(v.ranks, rank)
			return
		}
	}
	p.variants = append(p.variants, variant{s, []int{rank}})
}

// collect returns the prints of a section in order.
func collect(ranks [][]Line) []*printed {
	type place struct {
		at string
		n  int
	}
	index := make(map[place]*printed)
	var order []*printed
	for rank, lines := range ranks {
		for _, l := range lines {
			p := index[place{l.At, l.N}]
			if p == nil {
				p = new(printed)
				index[place{l.At, l.N}] = p
				order = append(order, p)
			}
			p.add(rank, string(l.Text))
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
	p := new(printed)
	for i, v := range values {
		p.add(ranks[i], v)
	}
	var b strings.Builder
	for _, v := range p.variants {
		mark := ""
		if len(v.ranks) < size {
			mark = "[" + rankList(v.ranks) + "]"
		}
		writeMarked(&b, mark, v.text)
	}
	return b.String()
}

// manyRanks is the number of ranks above which a list of them is shortened.
const manyRanks = 8

// rankList lists ascending ranks: "0,2,5". Beyond manyRanks, runs of
// neighbours are shortened: "0-6,8,9".
func rankList(ranks []int) string {
	if len(ranks) > manyRanks {
		return rankRanges(ranks)
	}
	words := make([]string, len(ranks))
	for i, r := range ranks {
		words[i] = strconv.Itoa(r)
	}
	return strings.Join(words, ",")
}

// rankRanges lists ascending ranks, three or more neighbours as "a-b".
func rankRanges(ranks []int) string {
	var words []string
	for len(ranks) > 0 {
		n := 1
		for n < len(ranks) && ranks[n] == ranks[0]+n {
			n++
		}
		if n < 3 {
			n = 1
			words = append(words, strconv.Itoa(ranks[0]))
		} else {
			words = append(words, strconv.Itoa(ranks[0])+"-"+strconv.Itoa(ranks[n-1]))
		}
		ranks = ranks[n:]
	}
	return strings.Join(words, ",")
}

// ranksOf returns "rank 2" or "ranks 0,2-4".
func ranksOf(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + strconv.Itoa(ranks[0])
	}
	return "ranks " + rankRanges(ranks)
}

// RanksText returns ascending ranks in words: "rank 2" or "ranks 0,2-4".
func RanksText(ranks []int) string { return ranksOf(ranks) }

// MergeRanks returns the texts that some of size ranks have, a row for each distinct
// one, behind its ranks in words.
func MergeRanks(size int, ranks []int, texts []string) string {
	p := new(printed)
	for i, v := range texts {
		p.add(ranks[i], v)
	}
	var b strings.Builder
	for _, v := range p.variants {
		who := ranksOf(v.ranks)
		if len(v.ranks) == size && size > 1 {
			who = "all ranks"
		}
		writeMarked(&b, who+":", v.text)
	}
	return b.String()
}
