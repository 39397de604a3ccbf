// Package pattern matches regular expressions as Oniguruma has them, the
// library whose patterns the files of tokenizers hold: with look-ahead and
// look-behind, atomic groups, possessive repetition, and classes that nest and
// intersect. Package regexp has none of these, and gives alternatives another
// order.
//
// Characters are those of Unicode: \s, \d, \w and \b know all of them. As in
// Oniguruma, ^ and $ are the ends of lines, (?m) lets a dot match newlines, and
// \h is a hexadecimal digit. Groups are not remembered, so there are no
// backreferences; conditions, calls, \R, \X and \K are refused, too.
//
//	p, err := pattern.Compile(`\p{L}+|\s+(?!\S)`)
//	lo, hi, ok, err := p.Find("a word", 0)
//
// A match is found by trying alternatives in order, and may take time that is
// exponential in the text where a pattern is bad; it is given up with an error
// after MaxSteps steps.
package pattern
