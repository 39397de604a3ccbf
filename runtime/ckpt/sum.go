package ckpt

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"

	"tpsh/mesh"
)

// A Sum is a hash of elements and their places in a tensor. Its bytes, in row-major
// order, are words of 8, little-endian, the last filled up with zeros; the Sum is the
// sum of word times key(place of the word), modulo 2^128. A part of a tensor counts as
// the whole with zeros for all else. So the Sums of parts add up to that of the whole,
// whatever the parts are.
//
// A change of one element always changes it, since keys are odd; it is the
// multilinear hash of Lemire and Kaser, "Strongly universal string hashing is
// fast", The Computer Journal 57(11), 2014, with keys that are a function of the
// place. It guards against mistakes, not against an adversary.
type Sum struct{ Hi, Lo uint64 }

// Add adds the Sum of another part of the tensor.
func (s *Sum) Add(o Sum) {
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, o.Lo, 0)
	s.Hi, _ = bits.Add64(s.Hi, o.Hi, carry)
}

// String returns s as 32 hexadecimal digits.
func (s Sum) String() string { return fmt.Sprintf("%016x%016x", s.Hi, s.Lo) }

// MarshalText implements encoding.TextMarshaler.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sum) UnmarshalText(text []byte) (err error) {
	if len(text) != 32 {
		return fmt.Errorf("a hash of %d digits, want 32", len(text))
	}
	if s.Hi, err = strconv.ParseUint(string(text[:16]), 16, 64); err != nil {
		return err
	}
	s.Lo, err = strconv.ParseUint(string(text[16:]), 16, 64)
	return err
}

// key returns the number that the word at place i counts with: the i-th of
// the generator SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014), made odd.
func key(i uint64) uint64 { return mix((i + 1) * golden) }

// golden is the step of that generator.
const golden = 0x9e3779b97f4a7c15

// mix returns what the generator makes of its state.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31 | 1
}

// AddRun adds elements of size bytes that lie together in the tensor, the first
// at place i.
func (s *Sum) AddRun(data []byte, size, i int) {
	at := uint64(i) * uint64(size)
	if skip := at % 8; skip > 0 {
		var word [8]byte
		n := copy(word[skip:], data)
		s.add(binary.LittleEndian.Uint64(word[:]), at/8)
		data, at = data[n:], at+uint64(n)
	}
	hi, lo := s.Hi, s.Lo
	z := (at/8 + 1) * golden
	for ; len(data) >= 8; data = data[8:] {
		h, l := bits.Mul64(binary.LittleEndian.Uint64(data), mix(z))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi += h + carry
		z += golden
		at += 8
	}
	s.Hi, s.Lo = hi, lo
	if len(data) > 0 {
		var word [8]byte
		copy(word[:], data)
		s.add(binary.LittleEndian.Uint64(word[:]), at/8)
	}
}

// add adds a word.
func (s *Sum) add(word, place uint64) {
	hi, lo := bits.Mul64(word, key(place))
	s.Add(Sum{hi, lo})
}

// AddOld is AddRun for a Sum of the first version of the format, in which each element
// is a word of its own.
func (s *Sum) AddOld(data []byte, size, i int) {
	hi, lo, at := s.Hi, s.Lo, uint64(i)
	add := func(v uint64) {
		h, l := bits.Mul64(v, key(at))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
		at++
	}
	switch size {
	case 1:
		for _, v := range data {
			add(uint64(v))
		}
	case 2:
		for ; len(data) >= 2; data = data[2:] {
			add(uint64(binary.LittleEndian.Uint16(data)))
		}
	case 4:
		for ; len(data) >= 4; data = data[4:] {
			add(uint64(binary.LittleEndian.Uint32(data)))
		}
	case 8:
		for ; len(data) >= 8; data = data[8:] {
			add(binary.LittleEndian.Uint64(data))
		}
	default:
		panic(fmt.Sprintf("ckpt: elements of %d bytes", size))
	}
	s.Hi, s.Lo = hi, lo
}

// AddBox adds the elements of box, of size bytes each, in a tensor of a shape.
// data holds them in row-major order.
func (s *Sum) AddBox(data []byte, size int, shape []int, box mesh.Box) {
	Walk(Whole(shape), box, box, func(at, from, n int) error {
		s.AddRun(data[from*size:(from+n)*size], size, at)
		return nil
	})
}

// AddOldBox is AddBox as AddOld is AddRun.
func (s *Sum) AddOldBox(data []byte, size int, shape []int, box mesh.Box) {
	Walk(Whole(shape), box, box, func(at, from, n int) error {
		s.AddOld(data[from*size:(from+n)*size], size, at)
		return nil
	})
}
