package torchfile

import "strings"

// dtypes lists the element types by their names in PyTorch, with their sizes in
// bytes and the class of their storages. Those without a class came later, and
// have storages of bytes.
var dtypes = []struct {
	name    string
	size    int
	storage string
}{
	{"float32", 4, "FloatStorage"}, {"float64", 8, "DoubleStorage"},
	{"float16", 2, "HalfStorage"}, {"bfloat16", 2, "BFloat16Storage"},
	{"int64", 8, "LongStorage"}, {"int32", 4, "IntStorage"},
	{"int16", 2, "ShortStorage"}, {"int8", 1, "CharStorage"},
	{"uint8", 1, "ByteStorage"}, {"bool", 1, "BoolStorage"},
	{"complex64", 8, "ComplexFloatStorage"}, {"complex128", 16, "ComplexDoubleStorage"},
	{"uint16", 2, ""}, {"uint32", 4, ""}, {"uint64", 8, ""},
	{"float8_e4m3fn", 1, ""}, {"float8_e5m2", 1, ""},
	{"float8_e4m3fnuz", 1, ""}, {"float8_e5m2fnuz", 1, ""}, {"float8_e8m0fnu", 1, ""},
}

// otherNames gives dtypes that a pickle may call by another name theirs.
var otherNames = map[string]string{
	"float": "float32", "double": "float64", "half": "float16", "long": "int64",
	"int": "int32", "short": "int16", "cfloat": "complex64", "cdouble": "complex128",
}

// A DType is an element type, by its name in PyTorch without "torch.".
type DType string

// Size returns the size of an element in bytes, or 0 if there is no such dtype.
func (d DType) Size() int {
	for i := range dtypes {
		if dtypes[i].name == string(d) {
			return dtypes[i].size
		}
	}
	return 0
}

// storageClass returns the class of d's storages, or "" if it has none.
func (d DType) storageClass() string {
	for i := range dtypes {
		if dtypes[i].name == string(d) {
			return dtypes[i].storage
		}
	}
	return ""
}

// ParseDType returns the dtype that the attribute name of the module torch is.
func ParseDType(name string) (DType, bool) {
	if other, ok := otherNames[name]; ok {
		name = other
	}
	d := DType(name)
	return d, d.Size() > 0
}

// storageOf returns the dtype of a class of storages; "" is that of bytes.
func storageOf(class string) (DType, bool) {
	if class == "UntypedStorage" || class == "TypedStorage" {
		return "", true
	}
	for i := range dtypes {
		if dtypes[i].storage == class && class != "" {
			return DType(dtypes[i].name), true
		}
	}
	return "", false
}

// isStorage reports whether a name of the module is that of a class of storages.
func isStorage(module, name string) bool {
	return strings.HasSuffix(name, "Storage") && (module == "torch" || module == "torch.storage" || module == "torch.cuda")
}
