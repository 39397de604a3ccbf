package main

// A kernel is a loop over the elements of arrays of equal length.
type kernel struct {
	name    string // as the package exports it
	doc     string // what it computes, the body of its doc comment
	arrays  []array
	scalars []scalar
	accs    []scalar // accumulators, each of 16 lanes
	ahead   []string // arrays that are rows of a table, whose next row is fetched
	body    func(k *kernel)

	wide     bool // recorded for AVX-512, which has steps that others are made of
	past     bool // of float32 or float64 all, it may store past the caches: see Past
	full     bool // it takes all registers: AVX2 has none left for the mask of a tail, AVX-512 none for constants
	together int  // groups that a round of the loop takes side by side in AVX-512, if more than 1

	steps       []*expr
	consts      []*expr
	scalarExprs []*expr
}

// An array is an operand of a kernel.
type array struct {
	name string
	elem elem
}

// A scalar is a number that a kernel is given.
type scalar struct {
	name string
	kind kind
}

// An elem is the type of an array's elements.
type elem uint8

const (
	eF32 elem = iota
	eF64
	eF16
	eBF16
	eU8
	eU32
	eU64
)

// kind returns the type that elements are loaded as.
func (e elem) kind() kind {
	switch e {
	case eF64:
		return f64
	case eU8, eU32:
		return i32
	case eU64:
		return i64
	}
	return f32
}

// size returns the bytes of an element.
func (e elem) size() int { return [...]int{4, 8, 2, 2, 1, 4, 8}[e] }

// goType returns the Go type of an element.
func (e elem) goType() string {
	return [...]string{"float32", "float64", "dtype.F16", "dtype.BF16", "uint8", "uint32", "uint64"}[e]
}

// goTail reports whether k's last elements, fewer than 16, are left to Go in AVX-512,
// too: AVX2 has no masked moves of fewer than 32 bits.
func (k *kernel) goTail() bool {
	for _, a := range k.arrays {
		if a.elem.size() < 4 {
			return true
		}
	}
	return false
}

// record runs k's body.
func (k *kernel) record() {
	k.steps, k.consts, k.scalarExprs = nil, nil, nil
	k.body(k)
}

// beforeAccs returns how many steps come before the first that takes an
// accumulator.
func (k *kernel) beforeAccs() int {
	for i, e := range k.steps {
		if e.op == opAcc {
			return i
		}
	}
	return len(k.steps)
}

// f32s returns float32 arrays.
func f32s(names ...string) []array {
	var a []array
	for _, n := range names {
		a = append(a, array{n, eF32})
	}
	return a
}

// f64s returns float64 arrays.
func f64s(names ...string) []array {
	var a []array
	for _, n := range names {
		a = append(a, array{n, eF64})
	}
	return a
}

// scalars32 returns float32 numbers.
func scalars32(names ...string) []scalar {
	var s []scalar
	for _, n := range names {
		s = append(s, scalar{n, f32})
	}
	return s
}

// scalars64 returns float64 numbers.
func scalars64(names ...string) []scalar {
	var s []scalar
	for _, n := range names {
		s = append(s, scalar{n, f64})
	}
	return s
}

// signature returns the type of k's functions in assembly.
func (k *kernel) signature() string {
	sig := "func("
	for _, a := range k.arrays {
		t := a.elem.goType()
		if a.elem == eF16 || a.elem == eBF16 {
			t = "uint16"
		}
		sig += a.name + " *" + t + ", "
	}
	sig += "n int"
	for _, c := range k.scalars {
		sig += ", " + c.name + " " + goKind(c.kind)
	}
	for _, c := range k.accs {
		sig += ", " + c.name + " *" + goKind(c.kind)
	}
	return sig + ")"
}
