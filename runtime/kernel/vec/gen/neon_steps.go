package main

import (
	"fmt"
	"slices"
)

// parts adds the steps of s.together parts of a group, from the given one on,
// side by side: a processor then has several to do while it waits for a result.
func (s *neonWriter) parts(first int) {
	k := s.k
	s.temps, s.not = map[*expr]int{}, map[*expr]bool{}
	for p := first; p < first+s.together; p++ {
		s.vals[p], s.uses[p] = map[*expr][]int{}, map[*expr]int{}
		for _, e := range k.steps {
			s.uses[p][e] = e.uses
		}
	}
	for _, e := range k.steps {
		if e.op == opAcc || e.op == opBits || e.op == opFrom {
			continue
		}
		s.body = append(s.body, fmt.Sprintf("// %s", k.statement(e)))
		for _, c := range s.inRegister(e) {
			if _, ok := s.hoisted[c]; !ok {
				s.temps[c] = s.alloc()
				s.f("FMOVQ %d(%s), F%d", s.constantAt(c), neonPool, s.temps[c])
			}
		}
		for p := first; p < first+s.together; p++ {
			s.emit(e, p)
			s.drop(e, p)
		}
		for c, r := range s.temps {
			s.release(r)
			delete(s.temps, c)
		}
	}
}

// drop notes that step e has taken its operands, and frees the registers of those
// that no other step takes.
func (s *neonWriter) drop(e *expr, p int) {
	for _, a := range e.args {
		a = a.root()
		s.uses[p][a]--
		if s.uses[p][a] > 0 {
			continue
		}
		for _, r := range s.vals[p][a] {
			if !slices.Contains(s.vals[p][e], r) {
				s.release(r)
			}
		}
		delete(s.vals[p], a)
	}
}

// reg returns register i of e's value.
func (s *neonWriter) reg(e *expr, p, i int) int {
	e = e.root()
	switch e.op {
	case opConst:
		if r, ok := s.hoisted[e]; ok {
			return r
		}
		return s.temps[e]
	case opScalar:
		return s.scalars[e.slot]
	case opAcc:
		return s.accs[e.slot][p*regsOf(e.kind)+i]
	}
	return s.vals[p][e][i]
}

// dies reports whether step e is the last to take its operand a, so that it may
// overwrite a's registers. Those of an accumulator it may if its own value is the
// accumulator's next.
func (s *neonWriter) dies(a, e *expr, p int) bool {
	a = a.root()
	if a.op == opConst || a.op == opScalar {
		return false
	}
	times := 0
	for _, x := range e.args {
		if x.root() == a {
			times++
		}
	}
	if s.uses[p][a] > times {
		return false
	}
	return a.op != opAcc || s.becomes(e) == a.slot
}

// becomes returns the accumulator whose next value e is, and nothing else; or -1.
func (s *neonWriter) becomes(e *expr) int {
	for _, next := range s.k.steps {
		if next.op == opSetAcc && next.args[0].root() == e && e.uses == 1 {
			return next.slot
		}
	}
	return -1
}

// dest returns the register for part i of e's value: that of an operand which
// dies, or a free one.
func (s *neonWriter) dest(e *expr, p, i int) int {
	for _, a := range e.args {
		if regsOf(a.kind) == regsOf(e.kind) && s.dies(a, e, p) {
			return s.reg(a, p, i)
		}
	}
	return s.alloc()
}

// emit adds step e for part p.
func (s *neonWriter) emit(e *expr, p int) {
	switch e.op {
	case opLoad:
		s.load(e, p)
	case opStore:
		s.store(e, p)
	case opSetAcc:
		for i := range regsOf(e.kind) {
			if from, to := s.reg(e.args[0], p, i), s.accs[e.slot][p*regsOf(e.kind)+i]; from != to {
				s.move(from, to)
			}
		}
	case opWiden:
		x, lo, hi := s.reg(e.args[0], p, 0), s.alloc(), s.alloc()
		s.word(0x0e617800|x<<5|lo, "FCVTL V%d.2D, V%d.2S", lo, x)
		s.word(0x4e617800|x<<5|hi, "FCVTL2 V%d.2D, V%d.4S", hi, x)
		s.vals[p][e] = []int{lo, hi}
	case opNarrow:
		lo, hi, d := s.reg(e.args[0], p, 0), s.reg(e.args[0], p, 1), s.alloc()
		s.word(0x0e616800|lo<<5|d, "FCVTN V%d.2S, V%d.2D", d, lo)
		s.word(0x4e616800|hi<<5|d, "FCVTN2 V%d.4S, V%d.2D", d, hi)
		s.vals[p][e] = []int{d}
	case opMulHigh:
		s.vals[p][e] = []int{s.mulHigh(e, p)}
	default:
		var regs []int
		for i := range regsOf(e.kind) {
			regs = append(regs, s.compute(e, p, i))
		}
		s.vals[p][e] = regs
	}
}

// move adds a copy of a register.
func (s *neonWriter) move(from, to int) { s.f("VMOV V%d.B16, V%d.B16", from, to) }

// A neonOp is an instruction on whole registers: its words for float32 and for
// float64, where there are such, and its name.
type neonOp struct {
	f32, f64 int
	name     string
}

// neonRounds are the instructions that round to integers, by how.
var neonRounds = [...]neonOp{
	toNearest: {0x4e218800, 0x4e618800, "FRINTN"},
	toFloor:   {0x4e219800, 0x4e619800, "FRINTM"},
	toCeil:    {0x4ea18800, 0x4ee18800, "FRINTP"},
	toZero:    {0x4ea19800, 0x4ee19800, "FRINTZ"},
}

var neonOps = map[op]neonOp{
	opAdd:       {0x4e20d400, 0x4e60d400, "FADD"},
	opSub:       {0x4ea0d400, 0x4ee0d400, "FSUB"},
	opMul:       {0x6e20dc00, 0x6e60dc00, "FMUL"},
	opDiv:       {0x6e20fc00, 0x6e60fc00, "FDIV"},
	opSqrt:      {0x6ea1f800, 0x6ee1f800, "FSQRT"},
	opEqual:     {0x4e20e400, 0x4e60e400, "FCMEQ"},
	opLessEqual: {0x6e20e400, 0x6e60e400, "FCMGE"},
	opMax:       {0x6ea0e400, 0x6ee0e400, "FCMGT"},
	opMulLow:    {f32: 0x4ea09c00, name: "MUL"},
	opToFloat:   {f32: 0x4e21d800, name: "SCVTF"},
}

// two adds instruction o with two operands, x and y, or one if y is negative.
func (s *neonWriter) two(o neonOp, kd kind, x, y, d int) {
	code, shape := o.f32, "4S"
	if kd == f64 {
		code, shape = o.f64, "2D"
	}
	if y < 0 {
		s.word(code|x<<5|d, "%s V%d.%s, V%d.%[3]s", o.name, d, shape, x)
		return
	}
	s.word(code|y<<16|x<<5|d, "%s V%d.%s, V%d.%[3]s, V%[5]d.%[3]s", o.name, d, shape, x, y)
}

// compute adds an operation on register i of its operands.
func (s *neonWriter) compute(e *expr, p, i int) int {
	switch e.op {
	case opFMA, opFNMA:
		return s.fused(e, p, i)
	case opMax, opMin:
		return s.greater(e, p, i)
	case opLess, opLessEqual, opEqual, opUnordered, opNonZero:
		return s.compare(e, p, i)
	case opSelect:
		return s.pick(e, p, i)
	case opScale:
		return s.scale(e, p, i)
	}
	if one := s.byBits(e); one != "" {
		x, d := s.reg(e.args[0], p, i), s.dest(e, p, i)
		s.two(neonOp{f32: map[string]int{"FABS": 0x4ea0f800, "FNEG": 0x6ea0f800}[one], name: one}, f32, x, -1, d)
		return d
	}
	x, y := s.reg(e.args[0], p, i), -1
	if len(e.args) > 1 {
		y = s.reg(e.args[1], p, i)
	}
	d := s.dest(e, p, i)
	switch e.op {
	case opAnd, opOr, opXor:
		s.f("%s V%d.B16, V%d.B16, V%d.B16", map[op]string{opAnd: "VAND", opOr: "VORR", opXor: "VEOR"}[e.op], y, x, d)
	case opIntAdd, opIntSub:
		s.f("%s V%d.%s, V%d.%[3]s, V%[5]d.%[3]s", map[op]string{opIntAdd: "VADD", opIntSub: "VSUB"}[e.op], y, neonLanes(e.kind), x, d)
	case opRound:
		s.two(neonRounds[e.bits], e.kind, x, -1, d)
	case opShiftLeft:
		s.f("VSHL $%d, V%d.%s, V%d.%[3]s", e.bits, x, neonLanes(e.kind), d)
	case opShiftDown:
		s.f("VUSHR $%d, V%d.D2, V%d.D2", e.bits, x, d)
	case opShiftRight:
		s.word(0x4f000400|(64-int(e.bits))<<16|x<<5|d, "SSHR V%d.4S, V%d.4S, #%d", d, x, e.bits)
	default:
		s.two(neonOps[e.op], e.kind, x, y, d)
	}
	return d
}

// byBits returns the instruction that does what e does with the bits of a
// float32, if there is one.
func (s *neonWriter) byBits(e *expr) string {
	if len(e.args) != 2 || e.kind != f32 || e.args[1].op != opConst {
		return ""
	}
	switch bits := e.args[1].bits; {
	case e.op == opAnd && bits == 0x7fffffff:
		return "FABS"
	case e.op == opXor && bits == 0x80000000:
		return "FNEG"
	}
	return ""
}

// fused adds a*b + c or c - a*b in the register of c, if that dies, or in a copy.
func (s *neonWriter) fused(e *expr, p, i int) int {
	a, b, c := s.reg(e.args[0], p, i), s.reg(e.args[1], p, i), e.args[2].root()
	d, resident := 0, true
	if c.op == opConst {
		_, resident = s.hoisted[c]
	}
	switch {
	case s.dies(c, e, p):
		d = s.reg(c, p, i)
	case !resident:
		d = s.alloc()
		s.f("FMOVQ %d(%s), F%d", s.constantAt(c), neonPool, d)
	default:
		d = s.alloc()
		s.move(s.reg(c, p, i), d)
	}
	name := "VFMLA"
	if e.op == opFNMA {
		name = "VFMLS"
	}
	s.f("%s V%d.%s, V%d.%[3]s, V%[5]d.%[3]s", name, b, neonLanes(e.kind), a, d)
	return d
}

// neonLanes returns what the lanes of a register are called.
func neonLanes(kd kind) string {
	if kd.double() {
		return "D2"
	}
	return "S4"
}

// againstZero returns the instruction that compares an operand of e with +0, if
// there is one.
func (s *neonWriter) againstZero(e *expr) string {
	switch {
	case e.op == opLess && isZero(e.args[1]):
		return "FCMLT"
	case e.op == opLess && isZero(e.args[0]):
		return "FCMGT"
	case e.op == opEqual && isZero(e.args[1]):
		return "FCMEQ"
	}
	return ""
}

// compare adds a comparison, whose lanes are ones for yes, or if s.not has it, for
// no.
func (s *neonWriter) compare(e *expr, p, i int) int {
	kd := e.args[0].kind
	if name := s.againstZero(e); name != "" {
		a := e.args[0]
		if isZero(a) {
			a = e.args[1]
		}
		x, d := s.reg(a, p, i), s.dest(e, p, i)
		code := map[string]int{"FCMLT": 0x4ea0e800, "FCMGT": 0x4ea0c800, "FCMEQ": 0x4ea0d800}[name]
		if kd == f64 {
			s.word(code|0x400000|x<<5|d, "%s V%d.2D, V%d.2D, #0.0", name, d, x)
		} else {
			s.word(code|x<<5|d, "%s V%d.4S, V%d.4S, #0.0", name, d, x)
		}
		return d
	}
	x, y := s.reg(e.args[0], p, i), 0
	if len(e.args) > 1 {
		y = s.reg(e.args[1], p, i)
	}
	d := s.dest(e, p, i)
	switch e.op {
	case opLess: // x < y is y > x
		s.two(neonOps[opMax], kd, y, x, d)
	case opLessEqual: // x <= y is y >= x
		s.two(neonOps[opLessEqual], kd, y, x, d)
	case opUnordered:
		s.two(neonOps[opEqual], kd, x, y, d)
		s.not[e] = true
	case opNonZero:
		s.f("VCMTST V%d.S4, V%[1]d.S4, V%d.S4", x, d)
	default:
		s.two(neonOps[e.op], kd, x, y, d)
	}
	return d
}

// greater adds the choice of the greater or lesser of two values, which is the
// second if they do not compare.
func (s *neonWriter) greater(e *expr, p, i int) int {
	x, y := s.reg(e.args[0], p, i), s.reg(e.args[1], p, i)
	m := s.alloc()
	if e.op == opMax {
		s.two(neonOps[opMax], e.kind, x, y, m)
	} else {
		s.two(neonOps[opMax], e.kind, y, x, m)
	}
	if s.dies(e.args[1], e, p) {
		s.f("VBIT V%d.B16, V%d.B16, V%d.B16", m, x, y)
		s.release(m)
		return y
	}
	s.f("VBSL V%d.B16, V%d.B16, V%d.B16", y, x, m)
	return m
}

// pick adds a choice between two values.
func (s *neonWriter) pick(e *expr, p, i int) int {
	m, yes, no := s.reg(e.args[0], p, i), e.args[1].root(), e.args[2].root()
	if s.not[e.args[0]] {
		yes, no = no, yes
	}
	switch {
	case isZero(yes): // what is there without the lanes of m
		x, d := s.reg(no, p, i), s.dest(e, p, i)
		s.word(0x4e601c00|m<<16|x<<5|d, "BIC V%d.16B, V%d.16B, V%d.16B", d, x, m)
		return d
	case isZero(no):
		x, d := s.reg(yes, p, i), s.dest(e, p, i)
		s.f("VAND V%d.B16, V%d.B16, V%d.B16", m, x, d)
		return d
	case s.dies(no, e, p):
		d := s.reg(no, p, i)
		s.f("VBIT V%d.B16, V%d.B16, V%d.B16", m, s.reg(yes, p, i), d)
		return d
	case s.dies(yes, e, p):
		d := s.reg(yes, p, i)
		s.f("VBIF V%d.B16, V%d.B16, V%d.B16", m, s.reg(no, p, i), d)
		return d
	}
	d := m
	if !s.dies(e.args[0], e, p) {
		d = s.alloc()
		s.move(m, d)
	}
	s.f("VBSL V%d.B16, V%d.B16, V%d.B16", s.reg(no, p, i), s.reg(yes, p, i), d)
	return d
}

// scale adds a product with a power of two, which is made from the low bits of
// the exponent plus shifter.
func (s *neonWriter) scale(e *expr, p, i int) int {
	m, shifted := s.reg(e.args[0], p, i), s.reg(e.args[2], p, i)
	d, lanes, fraction := s.alloc(), neonLanes(e.kind), 23
	if e.kind == f64 {
		fraction = 52
	}
	s.f("VSHL $%d, V%d.%s, V%d.%[3]s", fraction, shifted, lanes, d)
	s.f("VADD V%d.%s, V%d.%[2]s, V%[3]d.%[2]s", s.reg(s.bias(e), p, 0), lanes, d)
	s.two(neonOps[opMul], e.kind, m, d, d)
	return d
}

// bias returns the constant that is added to the exponent of scale e to be that of a number.
func (s *neonWriter) bias(e *expr) *expr {
	if e.kind == f64 {
		return s.k.constant(i64, 1023<<52)
	}
	return s.k.constant(i32, 127<<23)
}

// mulHigh adds the high halves of products: those of two halves of a register,
// whose odd words are joined.
func (s *neonWriter) mulHigh(e *expr, p int) int {
	x, y := s.reg(e.args[0], p, 0), s.reg(e.args[1], p, 0)
	lo, hi := s.alloc(), s.alloc()
	s.word(0x2ea0c000|y<<16|x<<5|lo, "UMULL V%d.2D, V%d.2S, V%d.2S", lo, x, y)
	s.word(0x6ea0c000|y<<16|x<<5|hi, "UMULL2 V%d.2D, V%d.4S, V%d.4S", hi, x, y)
	s.f("VUZP2 V%d.S4, V%d.S4, V%[2]d.S4", hi, lo)
	s.release(hi)
	return lo
}
