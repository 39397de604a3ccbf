// Package object writes Starlark values as bytes and reads them back, so that
// ranks can exchange them: None, bools, ints of any size, floats, strings,
// lists, tuples, and dicts whose keys are strings.
//
// Every value has one encoding: a byte that says what it is, and then
//
//	N T F   nothing: None, True, False
//	i       the int, a zig-zag varint
//	I       an int of more than 64 bits: 0 or 1 if it is negative, the number
//	        of bytes as a varint, its magnitude in big-endian order
//	d       the float, 8 bytes in little-endian order
//	s       the number of bytes as a varint, the bytes
//	l u     a list or tuple: the number of elements as a varint, the elements
//	m       a dict: the number of entries as a varint, each key (as after s)
//	        with its value, in the dict's order
package object
