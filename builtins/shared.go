package builtins

import (
	"reflect"
	"sync"
)

// Shared is what ranks of one process keep together: those of a plan, and others that
// write outputs.
type Shared struct {
	mu   sync.Mutex
	kept map[reflect.Type]any
}

// NewShared returns that of new ranks.
func NewShared() *Shared { return &Shared{kept: map[reflect.Type]any{}} }

// SharedOf returns what a vocabulary keeps in s: one T, zero at first, that all ranks
// find. T is a type of the vocabulary's own, and locks itself.
func SharedOf[T any](s *Shared) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := reflect.TypeFor[T]()
	if s.kept[key] == nil {
		s.kept[key] = new(T)
	}
	return s.kept[key].(*T)
}
