package pattern

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
)

// Characters of escapes. Oniguruma's white space is that of Unicode, and a word
// has letters, marks, decimal digits and connectors.
var (
	space = sync.OnceValue(func() ranges { return ofTables(unicode.White_Space) })
	digit = sync.OnceValue(func() ranges { return ofTables(unicode.Nd) })
	word  = sync.OnceValue(func() ranges {
		return ofTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc)
	})
	// wordAlone is what \w and \b take for words outside of classes: the other
	// numbers of Latin-1, too.
	wordAlone = sync.OnceValue(func() ranges {
		return union(word(), normal(0xb2, 0xb3, 0xb9, 0xb9, 0xbc, 0xbe))
	})
	hex = sync.OnceValue(func() ranges { return normal('0', '9', 'a', 'f', 'A', 'F') })
)

// escapes are the letters of classes; capitals stand for all other characters.
var escapes = map[byte]func() ranges{'s': space, 'd': digit, 'w': word, 'h': hex}

// posix returns the class that [[:name:]] names.
func posix(name string) (ranges, bool) {
	switch name {
	case "alnum":
		return union(ofTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic), digit()), true
	case "alpha":
		return ofTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic), true
	case "ascii":
		return ranges{0, 0x7f}, true
	case "blank":
		return union(ofTables(unicode.Zs), ranges{'\t', '\t'}), true
	case "cntrl":
		return ofTables(unicode.Cc), true
	case "digit":
		return digit(), true
	case "graph":
		return intersection(ofTables(unicode.White_Space, unicode.Cc, unicode.Cs).not(), assigned()), true
	case "lower":
		return ofTables(unicode.Ll, unicode.Other_Lowercase), true
	case "print":
		return intersection(union(ofTables(unicode.White_Space, unicode.Cc, unicode.Cs).not(), ofTables(unicode.Zs)), assigned()), true
	case "punct":
		return ofTables(unicode.P, unicode.S), true
	case "space":
		return space(), true
	case "upper":
		return ofTables(unicode.Lu, unicode.Other_Uppercase), true
	case "word":
		return word(), true
	case "xdigit":
		return hex(), true
	}
	return nil, false
}

func assigned() ranges {
	return ofTables(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs)
}

// loose returns a name of a property as names are compared.
func loose(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(name))
}

// properties are the names of tables, made loose.
var properties = sync.OnceValue(func() map[string]*unicode.RangeTable {
	all := map[string]*unicode.RangeTable{}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Properties, unicode.Scripts, unicode.Categories} {
		for name, t := range tables {
			all[loose(name)] = t
		}
	}
	for alias, name := range unicode.CategoryAliases {
		all[loose(alias)] = unicode.Categories[name]
	}
	return all
})

// property returns the characters that \p{name} names.
func property(name string) (ranges, error) {
	key := loose(name)
	negated := strings.HasPrefix(key, "^")
	key = strings.TrimPrefix(key, "^")
	var set ranges
	switch key {
	case "any":
		set = ranges{0, unicode.MaxRune}
	case "assigned":
		set = assigned()
	case "alphabetic":
		set, _ = posix("alpha")
	case "lowercase":
		set, _ = posix("lower")
	case "uppercase":
		set, _ = posix("upper")
	case "cn", "unassigned":
		set = assigned().not()
	case "c", "other":
		set = union(ofTables(unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs), assigned().not())
	default:
		if t := properties()[key]; t != nil {
			set = ofTables(t)
		} else if named, ok := posix(key); ok {
			set = named
		} else {
			return nil, fmt.Errorf("got the property %q, want a category, a script or a property of Unicode", name)
		}
	}
	if negated {
		set = set.not()
	}
	return set, nil
}
