package torchfile

import (
	"errors"
	"fmt"

	"tpsh/builtins/pickle"
)

// A typedStorage is a storage seen as elements of a dtype; "" is bytes.
type typedStorage struct {
	*Storage
	dtype DType
}

// A storageClass is the class of a storage.
type storageClass struct{ dtype DType }

// A Text is a value of PyTorch that is kept as the text by which it is called:
// torch.float32, torch.strided, cpu.
type Text string

// globals is what stands for the names that a file of tensors may name.
func (f *File) globals() pickle.Allow {
	allow := pickle.Allow{
		"torch.Size":                                 pickle.Func(size),
		"torch.device":                               pickle.Func(device),
		"torch._utils._rebuild_tensor":               pickle.Func(f.rebuildV2),
		"torch._utils._rebuild_tensor_v2":            pickle.Func(f.rebuildV2),
		"torch._utils._rebuild_tensor_v3":            pickle.Func(f.rebuildV3),
		"torch._utils._rebuild_parameter":            pickle.Func(first),
		"torch._utils._rebuild_parameter_with_state": pickle.Func(first),
		"torch.nn.parameter.Parameter":               pickle.Func(first),
		"torch._tensor._rebuild_from_type_v2":        pickle.Func(fromType),
		"torch.Tensor":                               Text("torch.Tensor"),
		"torch.serialization._get_layout":            pickle.Func(first),
		"torch.strided":                              Text("torch.strided"),
	}
	return allow
}

// global returns what stands for a name in the pickle of a file.
func (f *File) global(module, name string) (any, error) {
	if isStorage(module, name) {
		if d, ok := storageOf(name); ok {
			return storageClass{d}, nil
		}
	}
	if module == "torch" {
		if d, ok := ParseDType(name); ok {
			return d, nil
		}
	}
	return f.allow.Global(module, name)
}

// rebuildV2 makes a tensor of the dtype of its storage.
func (f *File) rebuildV2(args pickle.Tuple) (any, error) { return f.keep(args, "", 6) }

// rebuildV3 makes a tensor that is told its dtype.
func (f *File) rebuildV3(args pickle.Tuple) (any, error) {
	if len(args) < 7 {
		return nil, fmt.Errorf("got %d arguments, want at least 7", len(args))
	}
	d, ok := args[6].(DType)
	if !ok {
		return nil, fmt.Errorf("got %T for a dtype", args[6])
	}
	return f.keep(args, d, 7)
}

// keep makes a tensor, and notes it. Argument number metadata, if there is one, says
// what view of its elements it is.
func (f *File) keep(args pickle.Tuple, dtype DType, metadata int) (any, error) {
	t, err := rebuild(args, dtype)
	if err == nil && len(args) > metadata {
		err = t.look(args[metadata])
	}
	if err != nil {
		return nil, err
	}
	f.tensors = append(f.tensors, t)
	return t, nil
}

// first stands for what is, as far as its elements go, its first argument.
func first(args pickle.Tuple) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("got no arguments")
	}
	return args[0], nil
}

// size stands for torch.Size.
func size(args pickle.Tuple) (any, error) {
	if len(args) == 0 {
		return pickle.Tuple{}, nil
	}
	items, ok := pickle.Items(args[0])
	if !ok {
		return nil, fmt.Errorf("got %T for sizes", args[0])
	}
	return pickle.Tuple(items), nil
}

// device stands for torch.device: "cpu", or "cuda:1".
func device(args pickle.Tuple) (any, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, fmt.Errorf("got %d arguments, want a kind of devices, and perhaps a number", len(args))
	}
	name, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("got %s for a kind of devices", pickle.Kind(args[0]))
	}
	if len(args) == 1 {
		return Text(name), nil
	}
	n, ok := pickle.Int(args[1])
	if !ok {
		return nil, fmt.Errorf("got %s for the number of a device", pickle.Kind(args[1]))
	}
	return Text(fmt.Sprintf("%s:%d", name, n)), nil
}

// fromType stands for a call of a function for an object of a class: that of a
// tensor, or of a parameter, with attributes that do not matter here.
func fromType(args pickle.Tuple) (any, error) {
	if len(args) < 3 {
		return nil, fmt.Errorf("got %d arguments, want at least 3", len(args))
	}
	f, ok := args[0].(pickle.Callable)
	inner, ok2 := args[2].(pickle.Tuple)
	if !ok || !ok2 {
		return nil, fmt.Errorf("got %T and %T for a function and its arguments", args[0], args[2])
	}
	return f.Call(inner, nil)
}

// persistent returns the storage that an id in the pickle stands for.
func (f *File) persistent(id any) (any, error) {
	t, ok := id.(pickle.Tuple)
	if !ok || len(t) < 1 {
		return nil, fmt.Errorf("got %T for the id of a storage", id)
	}
	if t[0] == "module" && len(t) > 1 { // a class, with its source text
		return t[1], nil
	}
	if t[0] != "storage" || len(t) < 5 {
		return nil, errors.New("got an id that is not that of a storage")
	}
	class, ok := t[1].(storageClass)
	key, ok2 := t[2].(string)
	numel, ok3 := pickle.Int(t[4])
	if !ok || !ok2 || !ok3 || numel < 0 || numel > maxBytes {
		return nil, errors.New("got an id of a storage that cannot be")
	}
	size := int64(max(1, class.dtype.Size()))
	s := f.storages[key]
	if s == nil {
		s = &Storage{Key: key, Size: numel * size}
		f.storages[key] = s
	}
	if s.Size != numel*size {
		return nil, fmt.Errorf("storage %.20q has %d bytes here and %d there", key, numel*size, s.Size)
	}
	if len(t) > 5 && t[5] != nil {
		return view(s, t[5], class.dtype)
	}
	return &typedStorage{s, class.dtype}, nil
}

// view returns the part of a storage that old files speak of: (key, offset, size).
func view(s *Storage, v any, d DType) (any, error) {
	items, _ := pickle.Items(v)
	if len(items) != 3 {
		return nil, errors.New("got a part of a storage that cannot be")
	}
	if from, ok := pickle.Int(items[1]); !ok || from != 0 {
		return nil, errors.New("a storage that is a part of another, which is not read")
	}
	return &typedStorage{s, d}, nil
}

// maxBytes bounds what a file may say of sizes, so that sums of them are numbers.
const maxBytes = 1 << 58
