package chakra

import (
	"encoding/binary"
	"math"
)

// A message is the bytes of one message of Protocol Buffers. A field that is zero is
// left out, as proto3 has it, unless it is one of a oneof.
//
// "Encoding", protobuf.dev/programming-guides/encoding.
type message []byte

// The types by which a field says how it ends.
const (
	varint  = 0
	fixed64 = 1
	counted = 2
)

func (m *message) tag(field int, kind uint64) { m.raw(uint64(field)<<3 | kind) }

func (m *message) raw(v uint64) { *m = binary.AppendUvarint(*m, v) }

func (m *message) uint(field int, v uint64) {
	if v != 0 {
		m.tag(field, varint)
		m.raw(v)
	}
}

func (m *message) text(field int, s string) {
	if s != "" {
		m.nested(field, []byte(s))
	}
}

// nested adds bytes of a length that is written before them: a message, a text, or
// numbers.
func (m *message) nested(field int, b []byte) {
	m.tag(field, counted)
	m.raw(uint64(len(b)))
	*m = append(*m, b...)
}

// uints adds a repeated field, packed.
func (m *message) uints(field int, list []uint64) {
	if len(list) == 0 {
		return
	}
	var b message
	for _, v := range list {
		b.raw(v)
	}
	m.nested(field, b)
}

// The fields of an AttributeProto that hold its value.
const (
	doubleVal = 3
	int32Val  = 7
	int64Val  = 9
	uint64Val = 13
	boolVal   = 27
	stringVal = 29
)

// attribute adds an AttributeProto as the given field of a Node or of GlobalMetadata.
func (m *message) attribute(field int, name string, value func(a *message)) {
	var a message
	a.text(1, name)
	value(&a)
	m.nested(field, a)
}

// number is a value of an attribute, of one of the integer types.
func number(kind int, v int64) func(*message) {
	return func(a *message) {
		a.tag(kind, varint)
		a.raw(uint64(v))
	}
}

func truth(v bool) func(*message) {
	if v {
		return number(boolVal, 1)
	}
	return number(boolVal, 0)
}

func words(s string) func(*message) { return func(a *message) { a.nested(stringVal, []byte(s)) } }

func double(v float64) func(*message) {
	return func(a *message) {
		a.tag(doubleVal, fixed64)
		*a = binary.LittleEndian.AppendUint64(*a, math.Float64bits(v))
	}
}
