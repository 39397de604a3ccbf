package tokenizer

import (
	"sort"
	"sync"
	"unicode"
)

// A scriptRange is characters of one script.
type scriptRange struct {
	lo, hi rune
	script string
}

// scriptRanges are those of all scripts, in order.
var scriptRanges = sync.OnceValue(func() []scriptRange {
	var all []scriptRange
	for name, table := range unicode.Scripts {
		switch name {
		case "Hiragana", "Katakana": // those of Japanese are one
			name = "Han"
		}
		for _, r := range table.R16 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				all = append(all, scriptRange{c, c, name})
			}
		}
		for _, r := range table.R32 {
			if r.Stride == 1 {
				all = append(all, scriptRange{rune(r.Lo), rune(r.Hi), name})
				continue
			}
			for c := r.Lo; c <= r.Hi; c += r.Stride {
				all = append(all, scriptRange{rune(c), rune(c), name})
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].lo < all[j].lo })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && out[n-1].hi+1 == r.lo && out[n-1].script == r.script {
			out[n-1].hi = r.hi
			continue
		}
		out = append(out, r)
	}
	return out
})

// scriptOf returns the script of r; it is empty for a space and for what has
// none, which belong to what is beside them.
func scriptOf(r rune) string {
	if r == 0x30FC {
		return "Han"
	}
	all := scriptRanges()
	i := sort.Search(len(all), func(i int) bool { return all[i].hi >= r })
	if r == ' ' || i == len(all) || r < all[i].lo {
		return ""
	}
	return all[i].script
}

// splitScripts cuts where the script changes. What has no script at the
// beginning is dropped, as Tokenizers does.
func splitScripts(list []piece, p piece) ([]piece, error) {
	from, was := -1, ""
	for i, r := range p.text {
		s := scriptOf(r)
		if s == "" || s == was {
			continue
		}
		if from >= 0 {
			list = append(list, p.part(from, i))
		}
		from, was = i, s
	}
	if from < 0 {
		return list, nil
	}
	return append(list, p.part(from, len(p.text))), nil
}
