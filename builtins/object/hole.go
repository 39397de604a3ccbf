package object

// A hole stands for a number that a plan does not know, in as many bytes as it would
// take: an int counts as a short one.
var holes = map[byte]struct {
	kind string
	rest int // bytes behind the tag
}{'?': {"bool", 0}, '#': {"int", 1}, '~': {"float", 8}}

// AppendHole appends a number of a kind, "bool", "int" or "float", that is not known.
func AppendHole(dst []byte, kind string) []byte {
	for tag, h := range holes {
		if h.kind == kind {
			return append(append(dst, tag), make([]byte, h.rest)...)
		}
	}
	panic("object: a hole of kind " + kind)
}
