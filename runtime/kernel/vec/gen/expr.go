package main

import "math"

// A kind is the type of an expression's elements.
type kind uint8

const (
	f32    kind = iota
	f64         // half as many elements fit a register, so a value takes two
	i32         // 32 bits, of a float32 or of an integer
	mask        // true or false for each element of a float32
	i64         // 64 bits, of a float64
	mask64      // true or false for each element of a float64
)

// double reports whether elements have 64 bits, so that a value takes two registers.
func (kd kind) double() bool { return kd == f64 || kd == i64 || kd == mask64 }

// An expr is a value for each element of a vector: a step of a kernel.
type expr struct {
	op   op
	kind kind
	args []*expr
	bits uint64 // of a constant; the distance of a shift; how to round
	slot int    // which array, scalar or accumulator
	uses int    // steps that take it and are not emitted yet
	id   int    // its place among the steps
}

type op uint8

const (
	opLoad op = iota
	opScalar
	opConst
	opAcc // the value of an accumulator before this element

	opAdd
	opSub
	opMul
	opDiv
	opSqrt
	opRound // to an integer; bits says how
	opFMA   // a*b + c, rounded once
	opFNMA  // c - a*b, rounded once
	opMax   // a if a > b, else b
	opMin   // a if a < b, else b
	opAnd   // of bits
	opOr
	opXor

	opLess      // a < b
	opLessEqual // a <= b
	opEqual     // a == b
	opUnordered // a or b is NaN
	opNonZero   // of an i32
	opSelect    // b where a, else c

	opIntAdd
	opIntSub
	opShiftLeft
	opShiftRight // keeping the sign
	opShiftDown  // of an i64, putting in zeros

	opMulLow  // of two i32 the low and the high half of the product,
	opMulHigh // unsigned
	opToFloat
	opWiden // float32 to float64
	opNarrow
	opScale // a 2^b for a whole b, where the result is a normal number; c is b plus shifter

	// Of AVX-512 alone.
	opScaleAny // a 2^b for a whole b, rounded once
	opExponent // the b of a = m 2^b, 1 <= m < 2, also of subnormal numbers
	opMantissa // the m of it
	opFixLog   // b but where it is not the logarithm of a: of 0, infinity, NaN and what is negative

	opBits // float32 as i32, float64 as i64
	opFrom // the other way

	opStore
	opSetAcc
)

// step adds an expression to k's steps.
func (k *kernel) step(o op, kd kind, args ...*expr) *expr {
	e := &expr{op: o, kind: kd, args: args, id: len(k.steps)}
	if o != opBits && o != opFrom { // other names of the same value
		for _, a := range args {
			a.root().uses++
		}
	}
	k.steps = append(k.steps, e)
	return e
}

// root returns the value that e is, which may have several names.
func (e *expr) root() *expr {
	for e.op == opBits || e.op == opFrom {
		e = e.args[0]
	}
	return e
}

// num returns the float32 constant v.
func (k *kernel) num(v float64) *expr {
	return k.constant(f32, uint64(math.Float32bits(float32(v))))
}

// num64 returns the float64 constant v.
func (k *kernel) num64(v float64) *expr { return k.constant(f64, math.Float64bits(v)) }

// integer64 returns the i64 constant v.
func (k *kernel) integer64(v uint64) *expr { return k.constant(i64, v) }

// integer returns the i32 constant v.
func (k *kernel) integer(v uint32) *expr { return k.constant(i32, uint64(v)) }

// constant returns the constant with the given bits, the same one every time.
func (k *kernel) constant(kd kind, bits uint64) *expr {
	for _, c := range k.consts {
		if c.kind == kd && c.bits == bits {
			return c
		}
	}
	c := &expr{op: opConst, kind: kd, bits: bits, id: -1 - len(k.consts)}
	k.consts = append(k.consts, c)
	return c
}

func (k *kernel) add(a, b *expr) *expr       { return k.step(opAdd, a.kind, a, b) }
func (k *kernel) sub(a, b *expr) *expr       { return k.step(opSub, a.kind, a, b) }
func (k *kernel) mul(a, b *expr) *expr       { return k.step(opMul, a.kind, a, b) }
func (k *kernel) div(a, b *expr) *expr       { return k.step(opDiv, a.kind, a, b) }
func (k *kernel) sqrt(a *expr) *expr         { return k.step(opSqrt, a.kind, a) }
func (k *kernel) fma(a, b, c *expr) *expr    { return k.step(opFMA, a.kind, a, b, c) }
func (k *kernel) fnma(a, b, c *expr) *expr   { return k.step(opFNMA, a.kind, a, b, c) }
func (k *kernel) max(a, b *expr) *expr       { return k.step(opMax, a.kind, a, b) }
func (k *kernel) min(a, b *expr) *expr       { return k.step(opMin, a.kind, a, b) }
func (k *kernel) and(a, b *expr) *expr       { return k.step(opAnd, a.kind, a, b) }
func (k *kernel) or(a, b *expr) *expr        { return k.step(opOr, a.kind, a, b) }
func (k *kernel) xor(a, b *expr) *expr       { return k.step(opXor, a.kind, a, b) }
func (k *kernel) lessEqual(a, b *expr) *expr { return k.compare(opLessEqual, a, b) }
func (k *kernel) less(a, b *expr) *expr      { return k.compare(opLess, a, b) }
func (k *kernel) equal(a, b *expr) *expr     { return k.compare(opEqual, a, b) }
func (k *kernel) isNaN(a *expr) *expr        { return k.compare(opUnordered, a, a) }
func (k *kernel) nonZero(a *expr) *expr      { return k.step(opNonZero, mask, a) }
func (k *kernel) pick(m, a, b *expr) *expr   { return k.step(opSelect, a.kind, m, a, b) }
func (k *kernel) intAdd(a, b *expr) *expr    { return k.step(opIntAdd, a.kind, a, b) }
func (k *kernel) intSub(a, b *expr) *expr    { return k.step(opIntSub, a.kind, a, b) }
func (k *kernel) mulLow(a, b *expr) *expr    { return k.step(opMulLow, i32, a, b) }
func (k *kernel) mulHigh(a, b *expr) *expr   { return k.step(opMulHigh, i32, a, b) }
func (k *kernel) toFloat(a *expr) *expr      { return k.step(opToFloat, f32, a) }
func (k *kernel) widen(a *expr) *expr        { return k.step(opWiden, f64, a) }
func (k *kernel) narrow(a *expr) *expr       { return k.step(opNarrow, f32, a) }
func (k *kernel) bit(m *expr) *expr          { return k.pick(m, k.integer(1), k.integer(0)) }
func (k *kernel) bits(a *expr) *expr         { return k.step(opBits, i32, a) }
func (k *kernel) from(a *expr) *expr         { return k.step(opFrom, f32, a) }
func (k *kernel) bits64(a *expr) *expr       { return k.step(opBits, i64, a) }
func (k *kernel) from64(a *expr) *expr       { return k.step(opFrom, f64, a) }
func (k *kernel) shl(a *expr, n int) *expr   { return k.shift(opShiftLeft, a, n) }
func (k *kernel) shr(a *expr, n int) *expr   { return k.shift(opShiftRight, a, n) }
func (k *kernel) abs(a *expr) *expr          { return k.and(a, k.constant(f32, 0x7fffffff)) }
func (k *kernel) sign(a *expr) *expr         { return k.and(a, k.num(math.Copysign(0, -1))) }
func (k *kernel) neg(a *expr) *expr          { return k.xor(a, k.num(math.Copysign(0, -1))) }

// The ways to round to an integer, as the instructions of AVX have them.
const (
	toNearest uint64 = iota // ties to even
	toFloor
	toCeil
	toZero
)

// round returns a rounded to an integer.
func (k *kernel) round(a *expr, how uint64) *expr {
	e := k.step(opRound, a.kind, a)
	e.bits = how
	return e
}

// compare returns whether o holds of a and b.
func (k *kernel) compare(o op, a, b *expr) *expr {
	if a.kind == f64 {
		return k.step(o, mask64, a, b)
	}
	return k.step(o, mask, a, b)
}

func (k *kernel) shift(o op, a *expr, n int) *expr {
	e := k.step(o, a.kind, a)
	e.bits = uint64(n)
	return e
}

// poly returns the polynomial of x whose coefficients are c, the constant
// first, by Estrin's scheme: neighbours are joined, c0 + c1 x, then pairs of
// neighbours with x², and so on, which waits for fewer results than Horner's
// rule.
func (k *kernel) poly(x *expr, c ...float64) *expr {
	var terms []*expr
	for _, v := range c {
		terms = append(terms, k.num(v))
	}
	for {
		joined := terms[:0]
		for i := 0; i < len(terms); i += 2 {
			if i+1 < len(terms) {
				joined = append(joined, k.fma(terms[i+1], x, terms[i]))
			} else {
				joined = append(joined, terms[i])
			}
		}
		if terms = joined; len(terms) == 1 {
			return terms[0]
		}
		x = k.mul(x, x)
	}
}

// horner returns the polynomial of x whose coefficients are c, the constant
// first, by Horner's rule, which takes the fewest steps: what waits for a
// result leaves room for the rounds of the loop that follow.
func (k *kernel) horner(x *expr, c ...float64) *expr {
	y := k.num(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		y = k.fma(y, x, k.num(c[i]))
	}
	return y
}

// horner64 is horner in float64, whose coefficients are c.
func (k *kernel) horner64(x *expr, c ...float64) *expr {
	y := k.num64(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		y = k.fma(y, x, k.num64(c[i]))
	}
	return y
}

// load returns the element of the array called name.
func (k *kernel) load(name string) *expr {
	for i, a := range k.arrays {
		if a.name == name {
			e := k.step(opLoad, a.elem.kind())
			e.slot = i
			return e
		}
	}
	panic(k.name + " has no array " + name)
}

// store makes e the element of the array called name.
func (k *kernel) store(name string, e *expr) {
	for i, a := range k.arrays {
		if a.name == name {
			k.step(opStore, e.kind, e).slot = i
			return
		}
	}
	panic(k.name + " has no array " + name)
}

// scalar returns the number called name.
func (k *kernel) scalar(name string) *expr {
	for i, s := range k.scalars {
		if s.name == name {
			if k.scalarExprs == nil {
				k.scalarExprs = make([]*expr, len(k.scalars))
			}
			if k.scalarExprs[i] == nil {
				k.scalarExprs[i] = &expr{op: opScalar, kind: s.kind, slot: i, id: -1000 - i}
			}
			return k.scalarExprs[i]
		}
	}
	panic(k.name + " has no scalar " + name)
}

// acc returns the value of accumulator i, and setAcc changes it.
func (k *kernel) acc(i int) *expr {
	e := k.step(opAcc, k.accs[i].kind)
	e.slot = i
	return e
}

func (k *kernel) setAcc(i int, v *expr) { k.step(opSetAcc, v.kind, v).slot = i }
