package op

import "sync"

// otherNames are PyTorch's further names of operators, by the name under which they
// are registered. Some stand beside the operator instead, as those of add: Def.Aliases.
var otherNames = map[string][]string{
	"abs": {"absolute"}, "acos": {"arccos"}, "acosh": {"arccosh"}, "asin": {"arcsin"}, "asinh": {"arcsinh"},
	"atan": {"arctan"}, "atan2": {"arctan2"}, "atanh": {"arctanh"}, "cat": {"concat", "concatenate"}, "clone": {"alias_copy"},
	"conj": {"conj_physical"}, "expand": {"expand_copy"}, "ge": {"greater_equal"}, "gt": {"greater"}, "le": {"less_equal"}, "lt": {"less"},
	"ne": {"not_equal"}, "neg": {"negative"}, "outer": {"ger"}, "split": {"split_with_sizes", "unsafe_split"}, "chunk": {"unsafe_chunk"},
	"trunc": {"fix"}, "split_copy": {"split_with_sizes_copy"}, "abs_": {"absolute_"}, "neg_": {"negative_"}, "trunc_": {"fix_"},
	"acos_": {"arccos_"}, "acosh_": {"arccosh_"}, "asin_": {"arcsin_"}, "asinh_": {"arcsinh_"}, "atan_": {"arctan_"}, "atan2_": {"arctan2_"},
	"atanh_": {"arctanh_"}, "ge_": {"greater_equal_"}, "gt_": {"greater_"}, "le_": {"less_equal_"}, "lt_": {"less_"}, "ne_": {"not_equal_"},
	"sub_": {"subtract_"}, "mul_": {"multiply_"}, "div_": {"divide_", "true_divide_"}, "clamp_": {"clip_"},
}

// alsoNamed gives d its further names; key is where it stands in the table.
func alsoNamed(key string, d *Def) { d.Aliases = append(d.Aliases, otherNames[key]...) }

// Named returns the operator that is a method, or a function without a module, under name, one
// of its further names maybe; nil if there is none.
func Named(surface Surface, name string) *Def {
	for _, d := range [...]*Def{table[name], composites[name]} {
		if d != nil && d.Surface&surface != 0 {
			return d
		}
	}
	for _, d := range byAlias()[name] {
		if d.Surface&surface != 0 {
			return d
		}
	}
	return nil
}

// byAlias holds the operators by their further names. It is made once the tables are complete.
var byAlias = sync.OnceValue(func() map[string][]*Def {
	all := map[string][]*Def{}
	for d := range Every {
		for _, name := range d.Aliases {
			all[name] = append(all[name], d)
		}
	}
	return all
})
