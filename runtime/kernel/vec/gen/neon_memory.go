package main

// load adds the load of an array's elements, for an even part together with the
// next one where they lie in the same registers or go well in a pair.
func (s *neonWriter) load(e *expr, p int) {
	a := s.k.arrays[e.slot]
	at := p * 4 * a.elem.size()
	switch a.elem {
	case eF64, eU64:
		lo, hi := s.alloc(), s.alloc()
		s.f("FLDPQ %d(R%d), (F%d, F%d)", at, e.slot, lo, hi)
		s.vals[p][e] = []int{lo, hi}
	case eU8:
		d := s.alloc()
		s.f("FMOVS %d(R%d), F%d", at, e.slot, d)
		s.f("VUXTL V%d.B8, V%[1]d.H8", d)
		s.f("VUXTL V%d.H4, V%[1]d.S4", d)
		s.vals[p][e] = []int{d}
	case eF16, eBF16:
		s.loadHalf(e, p, at)
	default:
		if s.together == 1 {
			s.vals[p][e] = []int{s.alloc()}
			s.f("FMOVQ %d(R%d), F%d", at, e.slot, s.vals[p][e][0])
		} else if p%2 == 0 {
			s.vals[p][e], s.vals[p+1][e] = []int{s.alloc()}, []int{s.alloc()}
			s.f("FLDPQ %d(R%d), (F%d, F%d)", at, e.slot, s.vals[p][e][0], s.vals[p+1][e][0])
		}
	}
}

// loadHalf adds the load of numbers of 16 bits, for two parts at once.
func (s *neonWriter) loadHalf(e *expr, p, at int) {
	if s.together == 1 {
		panic(outOfRegisters{})
	}
	if p%2 != 0 {
		return
	}
	lo, hi := s.alloc(), s.alloc()
	s.f("FMOVQ %d(R%d), F%d", at, e.slot, lo)
	if s.k.arrays[e.slot].elem == eF16 {
		s.word(0x4e217800|lo<<5|hi, "FCVTL2 V%d.4S, V%d.8H", hi, lo)
		s.word(0x0e217800|lo<<5|lo, "FCVTL V%d.4S, V%[1]d.4H", lo)
	} else {
		s.word(0x6e613800|lo<<5|hi, "SHLL2 V%d.4S, V%d.8H, #16", hi, lo)
		s.word(0x2e613800|lo<<5|lo, "SHLL V%d.4S, V%[1]d.4H, #16", lo)
	}
	s.vals[p][e], s.vals[p+1][e] = []int{lo}, []int{hi}
}

// store adds the store of an array's elements, for an odd part together with the
// one before.
func (s *neonWriter) store(e *expr, p int) {
	a, x := s.k.arrays[e.slot], e.args[0]
	at := p * 4 * a.elem.size()
	switch {
	case a.elem.kind().double():
		s.f("FSTPQ (F%d, F%d), %d(R%d)", s.reg(x, p, 0), s.reg(x, p, 1), at, e.slot)
	case s.together == 1 && a.elem.size() == 4:
		s.f("FMOVQ F%d, %d(R%d)", s.reg(x, p, 0), at, e.slot)
	case s.together == 1:
		panic(outOfRegisters{})
	case p%2 == 0: // with the next part
		s.uses[p][x.root()]++
		return
	default:
		s.storePair(a.elem, s.reg(x, p-1, 0), s.reg(x, p, 0), at-4*a.elem.size(), e.slot)
		s.drop(e, p-1)
	}
}

// storePair adds the store of two parts.
func (s *neonWriter) storePair(el elem, lo, hi, at, slot int) {
	if el.size() == 4 {
		s.f("FSTPQ (F%d, F%d), %d(R%d)", lo, hi, at, slot)
		return
	}
	d := s.alloc()
	if el == eU8 {
		s.f("VUZP1 V%d.H8, V%d.H8, V%d.H8", hi, lo, d) // the lower halves
		s.word(0x0e212800|d<<5|d, "XTN V%d.8B, V%[1]d.8H", d)
		s.f("FMOVD F%d, %d(R%d)", d, at, slot)
		s.release(d)
		return
	}
	if el == eF16 {
		s.word(0x0e216800|lo<<5|d, "FCVTN V%d.4H, V%d.4S", d, lo)
		s.word(0x4e216800|hi<<5|d, "FCVTN2 V%d.8H, V%d.4S", d, hi)
	} else {
		s.f("VUZP2 V%d.H8, V%d.H8, V%d.H8", hi, lo, d) // the upper halves
	}
	s.f("FMOVQ F%d, %d(R%d)", d, at, slot)
	s.release(d)
}
