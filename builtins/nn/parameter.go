package nn

import (
	"tpsh/builtins"
	"tpsh/runtime"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A Store is the Lens of parameters that are stored otherwise than they are computed
// with. For example, fully_shard has a rank store a part of each parameter, which is
// gathered where a module computes: the optimiser steps on the part, and state_dict
// shows the whole.
type Store interface {
	// Stored returns the tensor in which x is stored on this rank, and the shape of x.
	Stored(x *builtins.Tensor) (*tensor.Tensor, shape.Shape, error)

	// State returns x as state_dict has it: detached, on its storage where it can be.
	State(x *builtins.Tensor) (*tensor.Tensor, error)

	// StateWith returns t, which an optimiser keeps for x, as its state_dict has it.
	StateWith(x *builtins.Tensor, fn string, t *tensor.Tensor) (*builtins.Tensor, error)

	// Load stores y, a distributed or a whole tensor, in into, which is x or what an
	// optimiser keeps for x, for the function fn.
	Load(fn string, x, into, y *builtins.Tensor) error

	// GradGroups returns the groups whose ranks have parts of the gradient of x, of
	// which the leaf is t.
	GradGroups(x *builtins.Tensor, t *tensor.Tensor) ([]*runtime.Group, error)
}

// storeOf returns how the parameter x is stored.
func storeOf(x *builtins.Tensor) Store {
	if s, ok := x.Lens.(Store); ok {
		return s
	}
	return PlainStore{}
}

// Leaf returns the leaf that x is or, of a parameter of which a rank stores a part,
// that part.
func Leaf(x *builtins.Tensor) (*tensor.Tensor, error) {
	t, _, err := storeOf(x).Stored(x)
	return t, err
}

// PlainStore is the Store of parameters that are stored as they are.
type PlainStore struct{}

// Stored implements Store.
func (PlainStore) Stored(x *builtins.Tensor) (*tensor.Tensor, shape.Shape, error) {
	t, err := x.Tensor()
	if err != nil {
		return nil, nil, err
	}
	return t, t.Shape(), nil
}

// State implements Store.
func (PlainStore) State(x *builtins.Tensor) (*tensor.Tensor, error) {
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	return t.Detach(), nil
}

// StateWith implements Store.
func (PlainStore) StateWith(x *builtins.Tensor, _ string, t *tensor.Tensor) (*builtins.Tensor, error) {
	return x.Env.Wrap(t.Detach()), nil
}

// Load implements Store.
func (PlainStore) Load(_ string, x, into, y *builtins.Tensor) error { return copyInto(x.Env, into, y) }

// GradGroups implements Store.
func (PlainStore) GradGroups(*builtins.Tensor, *tensor.Tensor) ([]*runtime.Group, error) {
	return nil, nil
}
