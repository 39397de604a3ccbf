package rundiff

import (
	"slices"
	"strconv"
	"strings"

	"tpsh/internal/lazyregexp"
	"tpsh/runtime/ckpt"
)

// A class is what a tensor is in training, in the order in which a step computes them.
type class int

const (
	activation class = iota
	loss
	gradient
	norm
	state
	parameter
)

var (
	gradWord  = lazyregexp.New(`(?i)(^|[._/\-])(grads?|gradients?)([._/\-]|$)`)
	normWord  = lazyregexp.New(`(?i)grad(ient)?s?[._\-]?norm|(^|[._/\-])(total|global)[._\-]norm`)
	stateWord = lazyregexp.New(`(?i)exp_avg|(^|[._/\-])(optim|optimizer|opt|momentum|adam|adamw|state)([._/\-]|$)`)
	paramWord = lazyregexp.New(`(?i)(^|[._/\-])(params?|parameters?|weights?|model|master)([._/\-]|$)|\.(weight|bias)$`)
	lossWord  = lazyregexp.New(`(?i)(^|[._/\-])loss([._/\-]|$)`)
	actWord   = lazyregexp.New(`(?i)(^|[._/\-])(acts?|activations?|hidden|outputs?|out)([._/\-]|$)`)
	layerWord = lazyregexp.New(`(^|[._/\-])(\d+)([._/\-]|$)`)
)

// classOf guesses from its name what a tensor is.
func classOf(name string) class {
	switch {
	case normWord.Get().MatchString(name) && !strings.HasSuffix(name, "weight") && !strings.HasSuffix(name, "bias"):
		return norm
	case gradWord.Get().MatchString(name):
		return gradient
	case stateWord.Get().MatchString(name):
		return state
	case actWord.Get().MatchString(name):
		return activation
	case lossWord.Get().MatchString(name):
		return loss
	case paramWord.Get().MatchString(name):
		return parameter
	}
	return activation
}

// layerOf returns the number of the layer that a name tells, or -1.
func layerOf(name string) int {
	m := layerWord.Get().FindStringSubmatch(name)
	if m == nil {
		return -1
	}
	n, err := strconv.Atoi(m[2])
	if err != nil || n > 1<<20 {
		return -1
	}
	return n
}

// parts lists words of names inside a layer in the order in which most transformers
// compute them. The first that occurs in a name counts.
var parts = []struct {
	place int
	words []string
}{
	{0, []string{"input", "tokens"}}, {1, []string{"wte", "emb", "wpe", "tok"}},
	{34, []string{"mlp_out", "ffn_out", "mlp.out", "ffn.out"}},
	{28, []string{"norm2", "ln2", "ln_2", "post_attention", "ffn_norm", "mlp_norm"}},
	{10, []string{"norm1", "ln1", "ln_1", "input_layernorm", "attn_norm"}},
	{26, []string{"resid1", "residual1", "resid_mid", "resid.mid"}},
	{38, []string{"resid2", "residual2", "resid_post", "resid.post"}},
	{24, []string{"attn_out", "attn.out", "o_proj", "out_proj", "c_proj_attn", "attn.o", "wo"}},
	{18, []string{"score", "logit_attn", "qk"}}, {20, []string{"prob", "softmax"}},
	{22, []string{"heads", "context", "ctx"}},
	{12, []string{"q_proj", "qkv", "attn.q", "wq", "query"}}, {13, []string{"k_proj", "attn.k", "wk", "key"}}, {14, []string{"v_proj", "attn.v", "wv", "value"}},
	{23, []string{"attn", "attention"}},
	{30, []string{"fc1", "up_proj", "gate_proj", "w1", "c_fc", "mlp.in"}}, {32, []string{"act", "gelu", "silu"}},
	{34, []string{"fc2", "down_proj", "w2"}}, {35, []string{"mlp", "ffn"}},
	{36, []string{"router", "gate"}}, {37, []string{"expert", "moe"}},
	{39, []string{"out", "block"}},
}

// partOf returns the place of a name inside its layer.
func partOf(name string) int {
	name = strings.ToLower(name)
	for _, p := range parts {
		for _, w := range p.words {
			if strings.Contains(name, w) {
				return p.place
			}
		}
	}
	return 25
}

// before orders the tensors of a step by class, layer and place in it: gradients from the
// last layer to the first.
func before(a, b string, last int) int {
	if c := int(classOf(a)) - int(classOf(b)); c != 0 {
		return c
	}
	x, y := depthOf(a, last), depthOf(b, last)
	if c := slices.Compare(x, y); c != 0 {
		if classOf(a) == gradient {
			return -c
		}
		return c
	}
	return compareNatural(a, b)
}

// depthOf returns where a name stands: its layer, one past the last for what stands behind
// the layers, and its place there.
func depthOf(name string, last int) []int {
	layer, part := layerOf(name), partOf(name)
	if layer < 0 && part > 1 {
		layer = last + 1
		if strings.Contains(strings.ToLower(name), "head") || strings.Contains(strings.ToLower(name), "logits") {
			part = 60
		}
	}
	return []int{layer, part}
}

// sorted returns the keys of a run in the order of computation, and how that is known.
func (s *side) sorted(given []string) ([]key, string) {
	list := slices.Clone(s.order)
	at := map[key]int{}
	for i, k := range list {
		at[k] = i
	}
	last := 0
	for _, k := range list {
		last = max(last, layerOf(k.name))
	}
	how := "names"
	if s.known {
		how = "the files' order"
	}
	if len(given) > 0 {
		how = "the plan's order"
	}
	slices.SortStableFunc(list, func(a, b key) int {
		if a.step != b.step {
			return a.step - b.step
		}
		if len(given) > 0 {
			return place(given, a.name) - place(given, b.name)
		}
		if s.known {
			return at[a] - at[b]
		}
		return before(a.name, b.name, last)
	})
	return list, how
}

// place returns the place in list of the first pattern that matches a name.
func place(list []string, name string) int {
	for i, p := range list {
		if ckpt.MatchName(p, name) {
			return i
		}
	}
	return len(list)
}
