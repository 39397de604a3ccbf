package pickle

import "iter"

// A Dict is a dict, in the order in which its keys were first set. Its zero
// value is empty; a nil *Dict reads as empty.
type Dict struct {
	keys, values []any
	// index finds the keys that Go compares as Python does, once there are many.
	// Others (tuples, objects) are taken to be all different, as the keys of a
	// dict that was pickled are.
	index map[any]int
	// State is what was set on a subclass's object beside its items.
	State any
}

// Len returns the number of keys.
func (d *Dict) Len() int {
	if d == nil {
		return 0
	}
	return len(d.keys)
}

// Get returns the value of a key that is text, a bool, a number or nil; or nil.
func (d *Dict) Get(key any) any {
	v, _ := d.Lookup(key)
	return v
}

// Lookup is Get, and says whether there is such a key.
func (d *Dict) Lookup(key any) (any, bool) {
	if i, ok := d.find(key); ok {
		return d.values[i], true
	}
	return nil, false
}

// few is how many keys are found without an index. Most dicts are records of a
// handful of fields, for which a map would be slower, and larger than they are.
const few = 12

// find returns the place of a key that Go compares as Python does.
func (d *Dict) find(key any) (int, bool) {
	if d == nil || !plain(key) {
		return 0, false
	}
	if d.index != nil {
		i, ok := d.index[key]
		return i, ok
	}
	for i, k := range d.keys {
		if plain(k) && k == key {
			return i, true
		}
	}
	return 0, false
}

// All ranges over keys and values in order.
func (d *Dict) All() iter.Seq2[any, any] {
	return func(yield func(any, any) bool) {
		if d == nil {
			return
		}
		for i, k := range d.keys {
			if !yield(k, d.values[i]) {
				return
			}
		}
	}
}

// Set sets a key.
func (d *Dict) Set(key, value any) {
	if i, ok := d.find(key); ok {
		d.values[i] = value
		return
	}
	d.keys, d.values = append(d.keys, key), append(d.values, value)
	switch {
	case d.index != nil:
		if plain(key) {
			d.index[key] = len(d.keys) - 1
		}
	case len(d.keys) > few:
		d.index = make(map[any]int, 2*few)
		for i, k := range d.keys {
			if plain(k) {
				d.index[k] = i
			}
		}
	}
}

// plain reports whether Go compares the values of key's type as Python does.
func plain(key any) bool {
	switch key.(type) {
	case nil, bool, int64, float64, string:
		return true
	}
	return false
}
