package advice

import (
	"slices"
	"strings"
)

// Methods are methods of tensors that PyTorch has as functions too, and that
// people write as such.
var Methods = strings.Fields(`
	backward chunk clone contiguous detach expand fill_ flatten index_select item
	masked_fill nonzero numel permute repeat reshape size squeeze tolist transpose type_as unsqueeze view`)

// method says how the method called name is called, or "" if it is none of Methods.
func method(name string) string {
	if !slices.Contains(Methods, name) {
		return ""
	}
	return "it is a method of tensors: write x." + name + "(...)"
}
