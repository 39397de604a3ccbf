//go:build !native || !linux

package blas

// Built reports whether this binary can open a library.
const Built = false

// open refuses every library.
func open(name string) (*Library, error) {
	return nil, &missingError{name + ": this binary opens no libraries"}
}

// invoke panics: there is no Library to call it.
func invoke[T float32 | float64](uintptr, *arguments[T], *T, *T, *T) {
	panic("blas: a product of a library that cannot have been opened")
}
