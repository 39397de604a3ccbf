package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// regsOf returns how many registers of a part a value of kind kd takes.
func regsOf(kd kind) int {
	if kd.double() {
		return 2
	}
	return 1
}

// operand returns register i of e's value, or in AVX2 where it is in memory.
func (s *assembler) operand(e *expr, i int) Op {
	e = e.root()
	switch e.op {
	case opConst:
		if v, ok := s.hoisted[e]; ok {
			return v
		}
		if s.wide {
			return s.broadcast(e)
		}
		return s.memOf(e)
	case opScalar:
		return s.scalars[e.slot]
	case opAcc:
		return s.accs[e.slot][s.part%s.parts()*regsOf(e.kind)+i]
	}
	return s.vals[e][i]
}

// broadcast emits the load of constant c. AVX-512 takes one number from memory
// and not a whole register: constants are no more than 32 bytes aligned, and a
// load across lines of the cache takes twice as long.
func (s *assembler) broadcast(c *expr) Op {
	v := s.vec()
	if c.kind.double() {
		VBROADCASTSD(s.memOf(c), v)
	} else {
		VBROADCASTSS(s.memOf(c), v)
	}
	return v
}

// loaded reports whether e is a constant that is in no register until a step
// takes it.
func (s *assembler) loaded(e *expr) bool {
	e = e.root()
	return e.op == opConst && s.hoisted[e] == nil
}

// register returns register i of e's value, which is loaded if it is in
// memory.
func (s *assembler) register(e *expr, i int) Op {
	o := s.operand(e, i)
	if m, ok := o.(Mem); ok {
		v := s.vec()
		VMOVUPS(m, v)
		return v
	}
	return o
}

// dies reports whether the step at hand is the last to take e, so that it may
// overwrite e's registers.
func (s *assembler) dies(e *expr) bool {
	e = e.root()
	return e.op != opConst && e.op != opScalar && e.op != opAcc && s.uses[e] == 1
}

// free reports whether the step at hand may overwrite the register that operand e is given in: e dies, or
// the register was loaded for this step.
func (s *assembler) free(e *expr) bool { return s.dies(e) || s.loaded(e) }

// emit emits step e.
func (s *assembler) emit(e *expr) {
	switch e.op {
	case opLoad:
		if !s.widensOnly(e) {
			s.vals[e] = s.load(e)
		}
	case opStore:
		s.store(e)
	case opAcc, opBits, opFrom:
	case opSetAcc:
		s.setAcc(e)
	case opWiden:
		s.vals[e] = s.widen(e)
	case opNarrow:
		s.vals[e] = []Op{s.narrow(e)}
	default:
		for i := range regsOf(e.kind) {
			s.vals[e] = append(s.vals[e], s.compute(e, i))
		}
	}
	for _, a := range e.args {
		if e.op != opBits && e.op != opFrom {
			s.uses[a.root()]--
		}
	}
}

// instructions are those of operations on two operands, by their kind.
var instructions = map[op][i64 + 1]func(ops ...Op){
	opAdd:    {f32: VADDPS, f64: VADDPD},
	opSub:    {f32: VSUBPS, f64: VSUBPD},
	opMul:    {f32: VMULPS, f64: VMULPD},
	opDiv:    {f32: VDIVPS, f64: VDIVPD},
	opMax:    {f32: VMAXPS, f64: VMAXPD},
	opMin:    {f32: VMINPS, f64: VMINPD},
	opAnd:    {f32: VANDPS, f64: VANDPD, i32: VANDPS, i64: VANDPD},
	opOr:     {f32: VORPS, f64: VORPD, i32: VORPS, i64: VORPD},
	opXor:    {f32: VXORPS, f64: VXORPD, i32: VXORPS, i64: VXORPD},
	opIntAdd: {i32: VPADDD, i64: VPADDQ},
	opIntSub: {i32: VPSUBD, i64: VPSUBQ},
	opMulLow: {i32: VPMULLD},
}

// compute emits an operation on register i of its operands.
func (s *assembler) compute(e *expr, i int) Op {
	switch e.op {
	case opFMA, opFNMA:
		return s.fused(e, i)
	case opMulHigh:
		return s.mulHigh(e)
	case opScale:
		return s.scale(e, i)
	case opLess, opLessEqual, opEqual, opUnordered, opNonZero:
		return s.compare(e, i)
	case opSelect:
		return s.pick(e, i)
	}
	d := s.vec()
	a := s.register(e.args[0], i)
	switch e.op {
	case opSqrt:
		if e.kind == f64 {
			VSQRTPD(a, d)
		} else {
			VSQRTPS(a, d)
		}
	case opRound:
		s.toInteger(e, a, d)
	case opShiftLeft:
		if e.kind == i64 {
			VPSLLQ(Imm(e.bits), a, d)
		} else {
			VPSLLD(Imm(e.bits), a, d)
		}
	case opShiftDown:
		VPSRLQ(Imm(e.bits), a, d)
	case opShiftRight:
		VPSRAD(Imm(e.bits), a, d)
	case opToFloat:
		VCVTDQ2PS(a, d)
	case opScaleAny:
		if e.kind == f64 {
			VSCALEFPD(s.operand(e.args[1], i), a, d)
		} else {
			VSCALEFPS(s.operand(e.args[1], i), a, d)
		}
	case opExponent:
		VGETEXPPS(a, d)
	case opMantissa:
		VGETMANTPS(Imm(0), a, d)
	case opFixLog:
		return s.fixLog(e, a)
	default:
		instructions[e.op][e.kind](s.operand(e.args[1], i), a, d)
	}
	return d
}

// toInteger emits d = a rounded to integers, without an exception for what is not one.
func (s *assembler) toInteger(e *expr, a, d Op) {
	how := Imm(e.bits | 8)
	switch {
	case s.wide && e.kind == f64:
		VRNDSCALEPD(how, a, d)
	case s.wide:
		VRNDSCALEPS(how, a, d)
	case e.kind == f64:
		VROUNDPD(how, a, d)
	default:
		VROUNDPS(how, a, d)
	}
}

// mulHigh emits the high halves of products, of the even elements and of the
// odd ones, which are shifted to even places first.
func (s *assembler) mulHigh(e *expr) Op {
	a, b := s.register(e.args[0], 0), s.operand(e.args[1], 0)
	even, odd := s.vec(), s.vec()
	VPMULUDQ(b, a, even)
	VPSRLQ(Imm(32), even, even)
	VPSRLQ(Imm(32), a, odd)
	VPMULUDQ(b, odd, odd) // b is the same number in every place
	VANDPD(s.operand(s.k.constant(f64, 0xffffffff00000000), 0), odd, odd)
	VORPD(even, odd, odd)
	return odd
}

// scale emits a product with a power of two. AVX2 makes the power from the low
// bits of the exponent plus shifter.
func (s *assembler) scale(e *expr, i int) Op {
	d, m := s.vec(), s.register(e.args[0], i)
	switch {
	case s.wide && e.kind == f64:
		VSCALEFPD(s.operand(e.args[1], i), m, d)
		return d
	case s.wide:
		VSCALEFPS(s.operand(e.args[1], 0), m, d)
		return d
	case e.kind == f64:
		VPSLLQ(Imm(52), s.register(e.args[2], i), d)
		VPADDQ(s.operand(s.k.constant(i64, 1023<<52), 0), d, d)
		VMULPD(d, m, d)
		return d
	}
	VPSLLD(Imm(23), s.register(e.args[2], 0), d)
	VPADDD(s.operand(s.k.constant(i32, 127<<23), 0), d, d)
	VMULPS(d, m, d)
	return d
}

// logFixes says what the logarithm is of numbers of some kinds, a digit for each: of NaN
// that is quiet and that signals, itself; of 0, minus infinity; of 1, what was
// computed; of minus infinity, NaN; of infinity, itself; of other negative numbers, NaN; of
// positive ones, what was computed.
const logFixes = 0x0_3_1_3_0_4_1_1

// fixLog emits the choice between what was computed as the logarithm of x and
// what it is of a number that has none, or no finite one.
func (s *assembler) fixLog(e *expr, x Op) Op {
	y := s.register(e.args[1], 0)
	if !s.dies(e.args[1]) {
		panic("a logarithm is wanted as it is and mended")
	}
	VFIXUPIMMPS(Imm(0), s.operand(e.args[2], 0), x, y)
	return y
}

// fusedForms are the fused instructions of float32 and float64: a product
// added to the destination (231), the destination times a register added to
// the first operand (213), and the destination times the first operand added
// to a register (132).
var fusedForms = map[op][2][3]func(ops ...Op){
	opFMA:  {{VFMADD231PS, VFMADD213PS, VFMADD132PS}, {VFMADD231PD, VFMADD213PD, VFMADD132PD}},
	opFNMA: {{VFNMADD231PS, VFNMADD213PS, VFNMADD132PS}, {VFNMADD231PD, VFNMADD213PD, VFNMADD132PD}},
}

// fused emits a*b + c or c - a*b, in place of an operand where one dies.
func (s *assembler) fused(e *expr, i int) Op {
	a, b, c := e.args[0], e.args[1], e.args[2]
	if s.loaded(a) || s.dies(b) && !s.dies(a) {
		a, b = b, a
	}
	form := fusedForms[e.op][e.kind]
	bInMemory, cInMemory := s.loaded(b) && !s.wide, s.loaded(c) && !s.wide
	switch {
	case s.dies(c):
		d := s.operand(c, i)
		form[0](s.operand(b, i), s.register(a, i), d)
		return d
	case s.dies(a) && a.root() != b.root() && !bInMemory:
		d := s.operand(a, i)
		form[1](s.operand(c, i), s.operand(b, i), d)
		return d
	case s.dies(a) && a.root() != b.root() && !cInMemory:
		d := s.operand(a, i)
		form[2](s.operand(b, i), s.operand(c, i), d)
		return d
	}
	d := s.register(c, i)
	if !s.loaded(c) {
		d = s.vec()
		VMOVUPS(s.operand(c, i), d)
	}
	form[0](s.operand(b, i), s.register(a, i), d)
	return d
}

// compare emits a comparison; its result is a K register in AVX-512.
func (s *assembler) compare(e *expr, i int) Op {
	a := s.register(e.args[0], i)
	predicate := map[op]Op{opLess: Imm(17), opLessEqual: Imm(18), opEqual: Imm(0), opUnordered: Imm(3)} // quiet ones
	switch {
	case e.op == opNonZero && s.wide:
		k := K()
		VPTESTMD(a, a, k)
		return k
	case e.op == opNonZero:
		d, zero := YMM(), YMM()
		VPXOR(zero, zero, zero)
		VPCMPGTD(zero, a, d)
		return d
	}
	var d Op = YMM()
	if s.wide {
		d = K()
	}
	if e.kind == mask64 {
		VCMPPD(predicate[e.op], s.operand(e.args[1], i), a, d)
	} else {
		VCMPPS(predicate[e.op], s.operand(e.args[1], i), a, d)
	}
	return d
}

// pick emits a choice between two values.
func (s *assembler) pick(e *expr, i int) Op {
	m, yes, no := s.vals[e.args[0]][i], s.operand(e.args[1], i), s.register(e.args[2], i)
	var d Op
	switch { // avo takes the destination of a masked move for an operand that is there from the beginning of the function
	case s.wide && s.free(e.args[2]):
		d = no
	case s.wide && s.free(e.args[1]):
		d = yes
	default:
		d = s.vec()
	}
	s.blend(m, yes, no, d, e.kind.double())
	return d
}

// blend emits d = yes where m, else no.
func (s *assembler) blend(m, yes, no, d Op, double bool) {
	switch {
	case s.wide && double:
		VBLENDMPD(yes, no, m, d)
	case s.wide:
		VBLENDMPS(yes, no, m, d)
	case double:
		VBLENDVPD(m, yes, no, d)
	default:
		VBLENDVPS(m, yes, no, d)
	}
}

// setAcc emits the change of an accumulator; elements that are not there leave
// it as it is.
func (s *assembler) setAcc(e *expr) {
	n := regsOf(e.kind)
	for i := range n {
		acc, v := s.accs[e.slot][s.part%s.parts()*n+i], s.operand(e.args[0], i)
		switch {
		case !s.tail:
			VMOVAPS(v, acc)
		case e.kind.double():
			s.blend(s.mask64(i), v, acc, acc, true)
		default:
			s.blend(s.tailMask[s.part], v, acc, acc, false)
		}
	}
}

// widensOnly reports whether e is a load of float32 that the next step widens
// and no other takes: the conversion then reads memory.
func (s *assembler) widensOnly(e *expr) bool {
	next := s.k.steps[e.id+1]
	return !s.tail && next.op == opWiden && next.args[0] == e && e.uses == 1
}

// widen emits the conversion of float32 to float64.
func (s *assembler) widen(e *expr) []Op {
	if x := e.args[0]; x.op == opLoad && s.widensOnly(x) {
		lo, hi := s.vec(), s.vec()
		VCVTPS2PD(s.place(x.slot, 0), lo)
		VCVTPS2PD(s.place(x.slot, 2*s.lanes()), hi)
		return []Op{lo, hi}
	}
	x := s.register(e.args[0], 0).(reg.VecVirtual)
	lo, hi := s.vec(), s.vec()
	if s.wide {
		upper := YMM()
		VCVTPS2PD(x.AsY(), lo)
		VEXTRACTF32X8(Imm(1), x, upper)
		VCVTPS2PD(upper, hi)
	} else {
		upper := XMM()
		VCVTPS2PD(x.AsX(), lo)
		VEXTRACTF128(Imm(1), x, upper)
		VCVTPS2PD(upper, hi)
	}
	return []Op{lo, hi}
}

// narrow emits the conversion of float64 to float32.
func (s *assembler) narrow(e *expr) Op {
	d := s.vec()
	lo, hi := s.register(e.args[0], 0), s.register(e.args[0], 1)
	if s.wide {
		l, h := YMM(), YMM()
		VCVTPD2PS(lo, l)
		VCVTPD2PS(hi, h)
		VINSERTF32X8(Imm(1), h, l.AsZ(), d)
	} else {
		l, h := XMM(), XMM()
		VCVTPD2PSY(lo, l)
		VCVTPD2PSY(hi, h)
		VINSERTF128(Imm(1), h, l.AsY(), d)
	}
	return d
}

// place returns where the part at hand of array a begins, past off bytes.
func (s *assembler) place(a int, off int) Mem {
	size := s.k.arrays[a].elem.size()
	return Mem{Base: s.ptr[a], Index: s.at, Scale: uint8(size), Disp: s.part*s.lanes()*size + off}
}

// load emits the load of an array's elements. Those that are not there are 0.
func (s *assembler) load(e *expr) []Op {
	v := s.vec()
	m := s.place(e.slot, 0)
	switch s.k.arrays[e.slot].elem {
	case eF16:
		VCVTPH2PS(m, v)
	case eBF16:
		VPMOVZXWD(m, v)
		VPSLLD(Imm(16), v, v)
	case eU8:
		VPMOVZXBD(m, v)
	case eF64, eU64:
		w := s.vec()
		s.loadPart(m, s.mask64(0), v, true)
		s.loadPart(s.place(e.slot, 4*s.lanes()), s.mask64(1), w, true)
		return []Op{v, w}
	default:
		var tm Op
		if s.tail {
			tm = s.tailMask[s.part]
		}
		s.loadPart(m, tm, v, false)
	}
	return []Op{v}
}

// loadPart emits the load of a register, in the tail under the mask tm.
func (s *assembler) loadPart(m Mem, tm Op, v Op, double bool) {
	switch {
	case !s.tail:
		VMOVUPS(m, v)
	case s.wide && double:
		VMOVUPD_Z(m, tm, v)
	case s.wide:
		VMOVUPS_Z(m, tm, v)
	case double:
		VMASKMOVPD(m, tm, v)
	default:
		VMASKMOVPS(m, tm, v)
	}
}

// store emits the store of an array's elements that are there.
func (s *assembler) store(e *expr) {
	m := s.place(e.slot, 0)
	v := s.register(e.args[0], 0)
	switch s.k.arrays[e.slot].elem {
	case eF16:
		VCVTPS2PH(Imm(0), v, m)
	case eBF16:
		s.storeBF16(v, m)
	case eU8:
		s.storeBytes(v, m)
	case eF64, eU64:
		s.storePart(v, m, s.mask64(0), true)
		s.storePart(s.register(e.args[0], 1), s.place(e.slot, 4*s.lanes()), s.mask64(1), true)
	default:
		var tm Op
		if s.tail {
			tm = s.tailMask[s.part]
		}
		s.storePart(v, m, tm, false)
	}
}

// storeBytes emits the store of the integers v, each 0 to 255.
func (s *assembler) storeBytes(v Op, m Mem) {
	if s.wide {
		VPMOVDB(v, m)
		return
	}
	d := s.vec()
	VPACKUSDW(v, v, d)
	VPERMQ(Imm(0x08), d, d)
	VPACKUSWB(d, d, d)
	VMOVQ(d.AsX(), m)
}

// storePart emits the store of a register, in the tail under the mask tm.
func (s *assembler) storePart(v Op, m Mem, tm Op, double bool) {
	switch {
	case !s.tail && s.past:
		VMOVNTPS(v, m)
	case !s.tail:
		VMOVUPS(v, m)
	case s.wide && double:
		VMOVUPD(v, tm, m)
	case s.wide:
		VMOVUPS(v, tm, m)
	case double:
		VMASKMOVPD(v, tm, m)
	default:
		VMASKMOVPS(v, tm, m)
	}
}

// storeBF16 emits the store of the upper halves of the integers v.
func (s *assembler) storeBF16(v Op, m Mem) {
	d := s.vec()
	VPSRLD(Imm(16), v, d)
	if s.wide {
		VPMOVDW(d, m)
		return
	}
	VPACKUSDW(d, d, d)
	VPERMQ(Imm(0x08), d, d)
	VMOVDQU(d.AsX(), m)
}
