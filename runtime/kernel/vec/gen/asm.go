package main

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// group is the number of elements of a round of a kernel's loop: one register
// of float32 in AVX-512, two in AVX2.
const group = 16

// An assembler writes kernels in one set of instructions.
type assembler struct {
	wide  bool // AVX-512, else AVX2
	pool  map[*expr]Mem
	where map[[2]uint64]Mem // constants of the pool, by kind and bits
	masks Mem               // group integers of ones, then as many zeros

	k       *kernel
	ptr     []reg.Register
	ahead   []reg.GPVirtual // where the rows after those of k.ahead begin
	at      reg.GPVirtual   // the first element of the round
	scalars []reg.VecVirtual
	accs    [][]reg.VecVirtual // of every accumulator the registers, in order of lanes
	hoisted map[*expr]reg.VecVirtual
	vals    map[*expr][]Op // what the steps of this part have computed
	uses    map[*expr]int
	part    int // which half of a group, in AVX2

	past bool // stores go past the caches

	tail     bool  // only some elements are there
	tailMask []Op  // for float32, by part; in AVX-512 a K register
	tail64   [2]Op // for the halves of a float64, in AVX-512
}

// parts returns how many registers of float32 a group takes.
func (s *assembler) parts() int {
	if s.wide {
		return 1
	}
	return 2
}

// lanes returns how many elements of float32 a register holds.
func (s *assembler) lanes() int { return group / s.parts() }

// suffix returns what names of functions end in.
func (s *assembler) suffix() string {
	if s.wide {
		return "AVX512"
	}
	return "AVX2"
}

func (s *assembler) vec() reg.VecVirtual {
	if s.wide {
		return ZMM()
	}
	return YMM()
}

// writePool writes the constants of all kernels, each as often as fills a
// register.
func (s *assembler) writePool(kernels []*kernel) {
	s.where = map[[2]uint64]Mem{}
	pool := GLOBL("constants", RODATA|NOPTR)
	at := 0
	for _, k := range kernels {
		k.wide = s.wide
		k.record()
		for _, c := range k.consts {
			key := [2]uint64{uint64(c.kind), c.bits}
			if _, ok := s.where[key]; ok {
				continue
			}
			s.where[key] = pool.Offset(at)
			for range group {
				if c.kind.double() && at%8 == 0 {
					DATA(at, U64(c.bits))
				} else if !c.kind.double() {
					DATA(at, U32(c.bits))
				}
				at += 4
			}
		}
	}
	s.masks = GLOBL("tailMasks", RODATA|NOPTR)
	for i := range 2 * group {
		v := U32(0)
		if i < group {
			v = 0xffffffff
		}
		DATA(4*i, v)
	}
}

// write writes the functions of k.
func (s *assembler) write(k *kernel) {
	name := lowerFirst(k.name) + s.suffix()
	s.function(k, name, fmt.Sprintf("%s is %s of n elements.", name, k.name), false)
	if k.past {
		past := k.pastName(s.suffix())
		s.function(k, past, fmt.Sprintf("%s is %s that stores past the caches: dst begins with a line of them.", past, name), true)
	}
}

// function writes a function of k, whose stores go past the caches or do not.
func (s *assembler) function(k *kernel, name, doc string, past bool) {
	k.record()
	s.k, s.tail, s.past = k, false, past
	TEXT(name, NOSPLIT, k.signature())
	Pragma("noescape")
	Doc(doc)
	s.prologue()
	n := Load(Param("n"), GP64())
	whole := GP64()
	MOVQ(n, whole)
	ANDQ(I32(-group), whole)
	s.lookAhead(n.(reg.GPVirtual))
	XORQ(s.at, s.at)
	if s.wide && k.together > 1 {
		s.together(whole)
	}
	JMP(LabelRef("test"))
	Label("loop")
	s.round(1)
	Label("test")
	CMPQ(s.at, whole)
	JLT(LabelRef("loop"))
	if !k.goTail() && (s.wide || !k.full) {
		SUBQ(s.at, n)
		JZ(LabelRef("done"))
		s.makeMasks(n.(reg.GPVirtual))
		s.tail = true
		s.body(1)
		Label("done")
	}
	s.epilogue()
	VZEROUPPER()
	RET()
}

// together emits the loop whose rounds take as many groups as s.k says, for
// those of the first whole elements that fill such rounds.
func (s *assembler) together(whole reg.GPVirtual) {
	last := GP64()
	MOVQ(whole, last)
	SUBQ(I32(group*s.k.together), last)
	JMP(LabelRef("testTogether"))
	Label("loopTogether")
	s.round(s.k.together)
	Label("testTogether")
	CMPQ(s.at, last)
	JLE(LabelRef("loopTogether"))
}

// round emits what a round of a loop does, and goes to the next.
func (s *assembler) round(groups int) {
	for _, p := range s.ahead {
		for i := range groups {
			PREFETCHT0(Mem{Base: p, Index: s.at, Scale: 4, Disp: 4 * group * i})
		}
	}
	if s.past {
		s.fetchAhead(groups)
	}
	s.body(groups)
	ADDQ(I32(group*groups), s.at)
}

// bytesAhead is how far before their use inputs are fetched where results do not
// pass through the caches: what is on its way for the latency of memory.
const bytesAhead = 2 << 10

// fetchAhead fetches as much of each input as a round of so many groups loads.
func (s *assembler) fetchAhead(groups int) {
	loads, _ := s.k.touched()
	for i, a := range s.k.arrays {
		size := a.elem.size()
		for b := 0; loads[i] && b < groups*group*size; b += 64 {
			PREFETCHT0(Mem{Base: s.ptr[i], Index: s.at, Scale: uint8(size), Disp: bytesAhead + b})
		}
	}
}

// prologue loads what stays in registers: pointers, numbers, accumulators and,
// in AVX-512, constants.
func (s *assembler) prologue() {
	k := s.k
	s.ptr, s.scalars, s.accs = nil, nil, nil
	for _, a := range k.arrays {
		s.ptr = append(s.ptr, Load(Param(a.name), GP64()))
	}
	s.at = GP64()
	for _, c := range k.scalars {
		p, err := Param(c.name).Resolve()
		if err != nil {
			panic(err)
		}
		v := s.vec()
		if c.kind == f64 {
			VBROADCASTSD(p.Addr, v)
		} else {
			VBROADCASTSS(p.Addr, v)
		}
		s.scalars = append(s.scalars, v)
	}
	for _, c := range k.accs {
		p := Mem{Base: Load(Param(c.name), GP64())}
		var regs []reg.VecVirtual
		for i := range s.accRegs(c.kind) {
			v := s.vec()
			VMOVUPS(p.Offset(i*4*s.lanes()), v)
			regs = append(regs, v)
		}
		s.accs = append(s.accs, regs)
	}
	s.hoist()
}

// lookAhead finds the rows of n elements after those of k.ahead. To fetch
// beyond the memory of the process does nothing.
func (s *assembler) lookAhead(n reg.GPVirtual) {
	s.ahead = nil
	for i, a := range s.k.arrays {
		if slices.Contains(s.k.ahead, a.name) {
			p := GP64()
			LEAQ(Mem{Base: s.ptr[i], Index: n, Scale: 4}, p)
			s.ahead = append(s.ahead, p)
		}
	}
}

// accRegs returns how many registers an accumulator takes.
func (s *assembler) accRegs(kd kind) int {
	if kd.double() {
		return 2 * s.parts()
	}
	return s.parts()
}

// hoist loads constants into registers that the steps leave free.
func (s *assembler) hoist() {
	s.hoisted = map[*expr]reg.VecVirtual{}
	if !s.wide || s.k.full {
		return
	}
	free := 13 - len(s.scalars)
	if s.k.together > 1 {
		free -= 5
	}
	for _, a := range s.accs {
		free -= len(a)
	}
	for _, c := range s.k.consts[:max(0, min(free, len(s.k.consts)))] {
		s.hoisted[c] = s.broadcast(c).(reg.VecVirtual)
	}
}

// epilogue stores the accumulators.
func (s *assembler) epilogue() {
	for i, c := range s.k.accs {
		p := Mem{Base: Load(Param(c.name), GP64())}
		for j, v := range s.accs[i] {
			VMOVUPS(v, p.Offset(j*4*s.lanes()))
		}
	}
}

// makeMasks makes the masks of the first n elements of a group, 0 < n < group.
func (s *assembler) makeMasks(n reg.GPVirtual) {
	if s.wide {
		ones := GP64()
		MOVQ(I32(-1), ones)
		BZHIQ(n, ones, ones)
		k := K()
		KMOVW(ones.As32(), k)
		s.tailMask = []Op{k}
		if s.has64() {
			hi := K()
			KSHIFTRW(Imm(8), k, hi)
			s.tail64 = [2]Op{k, hi}
		}
		return
	}
	base := GP64()
	LEAQ(s.masks, base)
	NEGQ(n)
	s.tailMask = nil
	for p := range 2 {
		m := YMM()
		VMOVDQU(Mem{Base: base, Index: n, Scale: 4, Disp: 4 * (group + p*8)}, m)
		s.tailMask = append(s.tailMask, m)
	}
}

// has64 reports whether an array or an accumulator of s.k is of float64.
func (s *assembler) has64() bool {
	for _, a := range s.k.arrays {
		if a.elem.kind().double() {
			return true
		}
	}
	for _, a := range s.k.accs {
		if a.kind.double() {
			return true
		}
	}
	return false
}

// body emits the steps for so many groups. Those of several groups are emitted
// side by side: a processor holds no more than some hundred instructions that
// wait for a result, and of steps that wait for each other those are few
// groups. Accumulators take the groups one after the other.
func (s *assembler) body(groups int) {
	n, steps := groups*s.parts(), s.k.steps
	side := 0
	if groups > 1 {
		side = s.k.beforeAccs()
	}
	vals, uses := make([]map[*expr][]Op, n), make([]map[*expr]int, n)
	for p := range n {
		vals[p], uses[p] = map[*expr][]Op{}, map[*expr]int{}
		for _, e := range steps {
			uses[p][e] = e.uses
		}
	}
	emit := func(part int, steps []*expr) {
		s.part, s.vals, s.uses = part, vals[part], uses[part]
		for _, e := range steps {
			s.emit(e)
		}
	}
	for i := range side {
		for p := range n {
			emit(p, steps[i:i+1])
		}
	}
	for p := range n {
		emit(p, steps[side:])
	}
}

// mask64 returns the mask of half i of a float64; in AVX2 it is made of that of
// float32.
func (s *assembler) mask64(i int) Op {
	if s.wide || !s.tail {
		return s.tail64[i]
	}
	m, half := s.tailMask[s.part].(reg.VecVirtual), YMM()
	if i == 0 {
		VPMOVSXDQ(m.AsX(), half)
		return half
	}
	VEXTRACTI128(Imm(1), m, half.AsX())
	VPMOVSXDQ(half.AsX(), half)
	return half
}

// memOf returns where constant c is.
func (s *assembler) memOf(c *expr) Mem { return s.where[[2]uint64{uint64(c.kind), c.bits}] }

// lowerFirst returns name with its first letter in lower case.
func lowerFirst(name string) string { return string(name[0]|0x20) + name[1:] }
