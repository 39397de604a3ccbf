package builtins

import "tpsh/builtins/arg"

// torchNames are the names of operators' parameters here, by those that PyTorch or the language's own page gives
// them: under "" those of all operators.
var torchNames = map[string]map[string]string{
	"":                  {"input": "x", "tensor": "x", "A": "x", "size": "shape", "source": "src"},
	"addbmm":            {"input": "c", "batch1": "a", "batch2": "b"},
	"addmm":             {"input": "c", "mat1": "a", "mat2": "b"},
	"addmv":             {"input": "c", "mat": "a", "vec": "b"},
	"addr":              {"input": "c", "vec1": "a", "vec2": "b"},
	"arange":            {"end": "stop"},
	"baddbmm":           {"input": "c", "batch1": "a", "batch2": "b"},
	"bilinear":          {"input1": "x1", "input2": "x2"},
	"bmm":               {"mat2": "other"},
	"cat":               {"list": "tensors"},
	"cdist":             {"x1": "x", "x2": "other"},
	"chunk":             {"chunks": "n"},
	"cosine_similarity": {"x1": "x", "x2": "other"},
	"dot":               {"tensor": "other"},
	"dropout":           {"train": "training"},
	"dsplit":            {"indices_or_sections": "sections"},
	"einsum":            {"equation": "spec"},
	"float_power":       {"exponent": "other"},
	"full":              {"fill_value": "v", "value": "v"},
	"gumbel_softmax":    {"logits": "x"},
	"hsplit":            {"indices_or_sections": "sections"},
	"masked_fill":       {"v": "value"},
	"mm":                {"mat2": "other"},
	"multinomial":       {"input": "probs", "num_samples": "n"},
	"mv":                {"vec": "other"},
	"outer":             {"vec2": "other"},
	"pairwise_distance": {"x1": "x", "x2": "other"},
	"pow":               {"exponent": "other", "y": "other"},
	"searchsorted":      {"input": "values"},
	"slice":             {"end": "stop"},
	"solve":             {"B": "b"},
	"split":             {"split_size": "size_or_sizes", "split_size_or_sections": "size_or_sizes"},
	"stack":             {"list": "tensors"},
	"transpose":         {"d0": "dim0", "d1": "dim1"},
	"vsplit":            {"indices_or_sections": "sections"},
	"where":             {"condition": "cond", "input": "a", "self": "a", "other": "b"},
}

// namesHere returns the names that the parameter of s which a keyword says may have.
func (s *signature) namesHere(keyword string) []string {
	names := append([]string{keyword}, arg.Synonyms[keyword]...)
	for _, of := range []string{s.def.Name, ""} {
		if name, ok := torchNames[of][keyword]; ok {
			names = append(names, name)
		}
	}
	return names
}

// addTorchNames lets the names that the parameters of s have in PyTorch be keywords.
func (c *Call) addTorchNames(s *signature) {
	for _, of := range []string{s.def.Name, ""} {
		for keyword, name := range torchNames[of] {
			if c.Keywords[name] {
				c.Keywords[keyword] = true
			}
		}
	}
}
